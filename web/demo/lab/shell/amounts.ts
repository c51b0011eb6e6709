import { t } from "../../texts/t.js";
import { counted } from "./numbers.js";
import { PERCENT } from "../../texts/percent.js";

/** "1 is", "0 are" */
export function are(count: number): string {
  return counted(count, "is", "are");
}

/** A share in whole percent. Only nothing is "0 %", and only everything is "100 %". */
export function percent(part: number, whole: number): string {
  const share = (100 * part) / whole;
  if (part > 0 && share < 1) return t`less than 1 %`;
  if (part < whole && share > 99) return t`more than 99 %`;
  return `${share.toFixed(0)}${PERCENT}`;
}

/** "3", "3 and 4", "3, 4 and 5" */
export function listed(items: readonly (string | number)[]): string {
  if (items.length < 2) return items.join("");
  return t`${items.slice(0, -1).join(", ")} and ${items.at(-1)!}`;
}
