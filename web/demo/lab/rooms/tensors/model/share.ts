import { decimal } from "../../../shell/numbers.js";
import { t } from "../../../../texts/t.js";
import { PERCENT } from "../../../../texts/percent.js";

/** A probability as the room writes it everywhere: "12.3 %". Only nothing is "0 %", and only everything is "100 %". */
export function share(probability: number): string {
  const percent = 100 * probability;
  if (percent > 0 && percent < 0.1) return t`less than ${decimal(0.1, 1)} %`;
  if (percent < 100 && percent > 99.9) return t`more than ${decimal(99.9, 1)} %`;
  return `${decimal(percent, percent === 0 || percent === 100 ? 0 : 1)}${PERCENT}`;
}
