import { PERCENT } from "../texts/percent.js";

/** Token `from` gives this share of its attention to token `to`. */
export interface Link {
  readonly from: number;
  readonly to: number;
  readonly prob: number;
}

/**
 * The strongest links of a head's probs [tokens, tokens], strongest first. Of equal links, the earlier one is first.
 */
export function strongestLinks(probs: Float32Array, count: number): Link[] {
  const tokens = Math.sqrt(probs.length);
  const links = Array.from(probs, (prob, i) => ({ from: Math.floor(i / tokens), to: i % tokens, prob }));
  return links.sort((a, b) => b.prob - a.prob).slice(0, count);
}

/** "park₄ → car 43 %", or "car → itself 61 %". */
export function linkInWords({ from, to, prob }: Link, names: readonly string[]): string {
  return `${names[from]} → ${from === to ? "itself" : names[to]} ${percent(prob)}`;
}

export function percent(share: number): string {
  return share > 0 && share < 0.005 ? `<1${PERCENT}` : `${Math.round(share * 100)}${PERCENT}`;
}
