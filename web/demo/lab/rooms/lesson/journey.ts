import { asMarkup } from "../../../model/names.js";
import { t } from "../../../texts/t.js";
import { arrowPath } from "./fan.js";
import { namesOf, pairOf, Vectors, type Lesson } from "./lesson.js";
import { planeOf } from "./plane.js";

const [WIDTH, HEIGHT, MARGIN] = [360, 190, 34];

/** How two words move: their vectors before attention and after it, in the plane where the four points spread most. */
export function journey(lesson: Lesson): { readonly markup: string; readonly share: number } {
  const pair = pairOf(lesson);
  const names = namesOf(lesson);
  const vectors = new Vectors(lesson.placed, lesson.head);
  const ids = [...pair.map((token) => vectors.before(token)), ...pair.map((token) => vectors.after(token))];
  const { points, share } = planeOf(ids.length, (a, b) => vectors.product(ids[a]!, ids[b]!));
  const places = placed(points);
  const movers = pair.map((token, index) => {
    const [from, to] = [places[index]!, places[index + 2]!];
    const way = `--dx:${(from[0] - to[0]).toFixed(1)}px;--dy:${(from[1] - to[1]).toFixed(1)}px`;
    const [x, y] = to.map((number) => number.toFixed(1)) as [string, string];
    const isLeft = to[0] > WIDTH - 70;
    const label = `<text x="${(to[0] + (isLeft ? -9 : 9)).toFixed(1)}" y="${(to[1] + 4).toFixed(1)}"${isLeft ? ' text-anchor="end"' : ""} lang="en" translate="no">${asMarkup(names[token]!)}</text>`;
    return (
      `<g class="mover m${index + 1}"><path d="${arrowPath(from, to)}" />` +
      `<circle class="was" cx="${from[0].toFixed(1)}" cy="${from[1].toFixed(1)}" r="5" />` +
      `<g class="is" style="${way}"><circle cx="${x}" cy="${y}" r="6" />${label}</g></g>`
    );
  });
  const gap = (a: number, b: number, kind: string) => {
    const [[x1, y1], [x2, y2]] = [places[a]!, places[b]!];
    return `<line class="gap ${kind}" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" />`;
  };
  const title = t`Two words before attention (rings) and after it (dots)`;
  return {
    markup: `<svg class="journey" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">${gap(0, 1, "was")}${gap(2, 3, "now")}${movers.join("")}</svg>`,
    share,
  };
}

/** The points, as large as they fit, with one scale for both axes. */
function placed(points: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  const range = (axis: 0 | 1) => {
    const numbers = points.map((point) => point[axis]);
    return [Math.min(...numbers), Math.max(...numbers)] as const;
  };
  const [[x0, x1], [y0, y1]] = [range(0), range(1)];
  const scale = Math.min((WIDTH - 2 * MARGIN) / (x1 - x0 || 1), (HEIGHT - 2 * MARGIN) / (y1 - y0 || 1));
  const middle = [(x0 + x1) / 2, (y0 + y1) / 2] as const;
  return points.map(([x, y]) => [WIDTH / 2 + scale * (x - middle[0]), HEIGHT / 2 - scale * (y - middle[1])]);
}
