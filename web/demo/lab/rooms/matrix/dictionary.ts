import type { Engine } from "../../engine/engine.js";
import { decimal } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { percent } from "./percent.js";

/** A dictionary of temperatures by the hour, and how sharply it is asked. */
export const HOURS = {
  keys: [0, 3, 6, 9, 12, 15, 18, 21],
  values: [9, 7, 6, 10, 15, 18, 16, 12],
  /** The scores are multiplied by this. 0 gives the mean of all, the last one a hard lookup. */
  sharpness: [0, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000],
} as const;

/** What a soft dictionary answers. */
export interface Answer {
  readonly weights: readonly number[];
  readonly value: number;
}

/** An hour as a point of the clock's circle, so that a product of two hours is large if they are near. */
function onClock(hour: number): [number, number] {
  const angle = (2 * Math.PI * hour) / 24;
  return [Math.cos(angle), Math.sin(angle)];
}

export async function ask(engine: Engine, hour: number, sharpness: number): Promise<Answer> {
  const { keys, values } = HOURS;
  const query = { data: Float32Array.from(onClock(hour)), shape: [1, 2] };
  const key = { data: Float32Array.from(keys.flatMap(onClock)), shape: [keys.length, 2] };
  const value = { data: Float32Array.from(values), shape: [values.length, 1] };
  const { output, probs } = await engine.scaledDotProductAttention(query, key, value, {
    scale: sharpness,
    returns: { output: true, probs: true },
  });
  return { weights: Array.from(probs.data), value: output.data[0]! };
}

/** What a hard dictionary would answer. */
export function lookup(hour: number): number | undefined {
  return HOURS.values[(HOURS.keys as readonly number[]).indexOf(hour)];
}

export function answerWords(hour: number, sharpness: number, { weights, value }: Answer): string {
  const best = weights.indexOf(Math.max(...weights));
  const degrees = `${decimal(value, 1)} °C`;
  const exact = lookup(hour);
  const hard =
    exact === undefined
      ? t`The dictionary has no key ${clock(hour)}: a lookup finds nothing.`
      : t`A lookup finds the key ${clock(hour)} and its value, ${decimal(exact, 1)} °C.`;
  const soft =
    sharpness === 0
      ? t`Attention with sharpness 0 gives every key the same weight: ${degrees} is the mean of all values.`
      : t`Attention gives ${percent(weights[best]!)} of the weight to ${clock(HOURS.keys[best]!)} and answers ${degrees}.`;
  return `${hard} ${soft}`;
}

/** "09:00" */
export function clock(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00`;
}
