import { PERCENT } from "../../../texts/percent.js";

export function percent(share: number): string {
  return `${(100 * share).toFixed(0)}${PERCENT}`;
}
