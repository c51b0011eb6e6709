import { svg } from "./element.js";
import { decimal } from "./numbers.js";

export interface Line {
  readonly name: string;
  readonly values: readonly number[];
}

const WIDTH = 420;
const HEIGHT = 170;
const LEFT = 36;
const BOTTOM = 26;

/** Curves over equally spaced steps. All but the first are dashed, so that equal curves are both visible. */
export function lineChart(
  lines: readonly Line[],
  ticks: readonly [string, string, string],
  label: string,
): SVGSVGElement {
  const all = lines.flatMap(({ values }) => values);
  const [low, high] = [Math.min(...all, 0), Math.max(...all, 0)];
  const span = Math.max(high - low, 1e-6);
  const y = (value: number) => 10 + ((high - value) / span) * (HEIGHT - BOTTOM - 20);
  const x = (step: number, steps: number) => LEFT + (step / (steps - 1)) * (WIDTH - LEFT - 10);
  const curve = ({ name, values }: Line, index: number) =>
    svg(
      "polyline",
      {
        class: `line-${index}`,
        points: values.map((value, step) => `${x(step, values.length).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
      },
      svg("title", {}, name),
    );
  const text = (at: number, height: number, words: string, anchor: string) =>
    svg("text", { x: at, y: height, "text-anchor": anchor }, words);
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lines-chart", role: "img", "aria-label": label },
    svg("path", { class: "axis", d: `M${LEFT} ${y(0)}H${WIDTH - 10}` }),
    ...lines.map(curve),
    text(LEFT - 6, y(high) + 4, decimal(high, 1), "end"),
    text(LEFT - 6, y(low) + 4, decimal(low, 1), "end"),
    text(LEFT, HEIGHT - 4, ticks[0], "start"),
    text((LEFT + WIDTH - 10) / 2, HEIGHT - 4, ticks[1], "middle"),
    text(WIDTH - 10, HEIGHT - 4, ticks[2], "end"),
  );
}
