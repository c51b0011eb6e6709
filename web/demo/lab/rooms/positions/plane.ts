import { svg } from "../../shell/element.js";

export type Vector = readonly [x: number, y: number];

export interface PlanePair {
  readonly name: string;
  readonly before: Vector;
  readonly after: Vector;
}

const SIZE = 300;
const MIDDLE = SIZE / 2;

/** Two vectors in a plane, before (pale) and after their rotation, with an arc for each rotation. */
export function plane(pairs: readonly PlanePair[], label: string): SVGSVGElement {
  const longest = Math.max(...pairs.flatMap(({ before }) => [Math.hypot(...before)]), 1e-6);
  const scale = (MIDDLE - 26) / longest;
  const place = ([x, y]: Vector): Vector => [MIDDLE + x * scale, MIDDLE - y * scale];
  const circle = svg("circle", { cx: MIDDLE, cy: MIDDLE, r: MIDDLE - 26, class: "rim" });
  const axes = svg("path", { d: `M${MIDDLE} 8V${SIZE - 8}M8 ${MIDDLE}H${SIZE - 8}`, class: "axis" });
  const drawn = pairs.flatMap(({ name, before, after }, index) => [
    arrow(place(before), `before pair-${index}`),
    arc(before, after, scale, 0.38 + 0.14 * index, `arc pair-${index}`),
    arrow(place(after), `after pair-${index}`),
    caption(place(after), name, `pair-${index}`),
  ]);
  return svg(
    "svg",
    { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "plane", role: "img", "aria-label": label },
    circle,
    axes,
    ...drawn,
  );
}

function arrow([x, y]: Vector, kind: string): SVGGElement {
  const angle = Math.atan2(y - MIDDLE, x - MIDDLE);
  const barb = (turn: number) => `${x - 9 * Math.cos(angle + turn)} ${y - 9 * Math.sin(angle + turn)}`;
  return svg(
    "g",
    { class: kind },
    svg("path", { d: `M${MIDDLE} ${MIDDLE}L${x} ${y}M${barb(0.42)}L${x} ${y}L${barb(-0.42)}` }),
  );
}

/**
 * An arc from one direction to the other. `share` is its radius, as a share of the vector's length. If the rotation is
 * more than half a circle, the arc takes the shorter way.
 */
function arc(from: Vector, to: Vector, scale: number, share: number, kind: string): SVGPathElement {
  const radius = Math.hypot(...from) * scale * share;
  const [start, end] = [Math.atan2(from[1], from[0]), Math.atan2(to[1], to[0])];
  const turn = ((end - start + 3 * Math.PI) % (2 * Math.PI)) - Math.PI;
  const point = (angle: number) => `${MIDDLE + radius * Math.cos(angle)} ${MIDDLE - radius * Math.sin(angle)}`;
  return svg("path", { class: kind, d: `M${point(start)}A${radius} ${radius} 0 0 ${turn > 0 ? 0 : 1} ${point(end)}` });
}

function caption([x, y]: Vector, name: string, kind: string): SVGTextElement {
  const [dx, dy] = [Math.sign(x - MIDDLE) * 12, y < MIDDLE ? -8 : 16];
  return svg("text", { x: inside(x + dx), y: y + dy, "text-anchor": "middle", class: kind }, name);
}

/** Keeps the middle of a caption so far from the edges that its text fits. */
const inside = (x: number) => Math.min(Math.max(x, 42), SIZE - 42);
