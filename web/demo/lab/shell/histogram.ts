import { svg } from "./element.js";
import { plain } from "./numbers.js";

const WIDTH = 320;
const HEIGHT = 110;
const BINS = 41;

/** A histogram of values from −limit to limit. Values outside are counted in the outer bars. */
export function histogram(values: Float32Array, limit: number, label: string): SVGSVGElement {
  const counts = new Array<number>(BINS).fill(0);
  for (const value of values) {
    const bin = Math.floor(((value + limit) / (2 * limit)) * BINS);
    counts[Math.min(Math.max(bin, 0), BINS - 1)]!++;
  }
  const most = Math.max(...counts);
  const bars = counts.map((count, bin) => {
    const height = (count / most) * (HEIGHT - 18);
    return svg("rect", { x: (bin * WIDTH) / BINS + 0.5, y: HEIGHT - 16 - height, width: WIDTH / BINS - 1, height });
  });
  const tick = (x: number, text: string, anchor: string) =>
    svg("text", { x, y: HEIGHT - 2, "text-anchor": anchor }, text);
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "histogram", role: "img", "aria-label": label },
    ...bars,
    tick(0, `−${plain(limit)}`, "start"),
    tick(WIDTH / 2, "0", "middle"),
    tick(WIDTH, plain(limit), "end"),
  );
}
