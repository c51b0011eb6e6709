import type { Link } from "./links.js";

/** Where links are drawn, in CSS pixels: from the left edge to the right edge. */
export interface LinkPlot {
  readonly width: number;
  readonly height: number;
  /** How far the columns are scrolled. */
  readonly scrolled: number;
  readonly tokenHeight: number;
}

/** Pixels between the lines of two heads that join the same tokens. */
const SPREAD = 2;

/** Draws links as curves. Opacity and width show the weight. The context's unit is the CSS pixel. */
export function paintLinks(
  context: CanvasRenderingContext2D,
  links: readonly Link[],
  plot: LinkPlot,
  heads: readonly number[],
  colours: readonly string[],
): void {
  const lanes = new Map(heads.map((head, i) => [head, i - (heads.length - 1) / 2]));
  const spread = Math.min(SPREAD, (0.6 * plot.tokenHeight) / heads.length);
  const middle = plot.width / 2;
  context.lineCap = "round";
  for (const { head, query, key, weight } of links) {
    const lane = lanes.get(head)! * spread;
    const from = heightOf(query, plot) + lane;
    const to = heightOf(key, plot) + lane;
    context.globalAlpha = 0.12 + 0.88 * Math.min(weight, 1);
    context.lineWidth = 1 + 2.5 * Math.min(weight, 1);
    context.strokeStyle = colours[head]!;
    context.beginPath();
    context.moveTo(2, from);
    context.bezierCurveTo(middle, from, middle, to, plot.width - 2, to);
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** The middle of a token, in CSS pixels from the top. */
export function heightOf(token: number, { scrolled, tokenHeight }: LinkPlot): number {
  return (token + 0.5) * tokenHeight - scrolled;
}

/** Whether a part of a link may be visible. */
export function isInSight({ query, key }: Link, plot: LinkPlot): boolean {
  const [a, b] = [heightOf(query, plot), heightOf(key, plot)];
  return Math.max(a, b) > -plot.tokenHeight && Math.min(a, b) < plot.height + plot.tokenHeight;
}
