import type { Endless } from "../../engine/generateProtocol.js";
import { element, svg } from "../../shell/element.js";
import { decimal } from "../../shell/numbers.js";
import { countWords, type Unit } from "./words.js";
import { t } from "../../../texts/t.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 200, 44, 26];
const NAMES = { whole: t`all tokens`, sinks: t`ring with the first ones`, window: t`ring of the last only` } as const;

/** The surprise of three caches along a text, and where the rings are full. */
export function endlessChart(endless: Endless, kept: number, unit: Unit): HTMLElement {
  const curves = Object.keys(NAMES) as (keyof typeof NAMES)[];
  const count = Math.max(endless.whole.length, 2);
  const highest = Math.max(...curves.flatMap((name) => endless[name]), 1) * 1.05;
  const x = (at: number) => LEFT + ((at + 0.5) / count) * (WIDTH - LEFT - 10);
  const y = (value: number) => 10 + (1 - value / highest) * (HEIGHT - BOTTOM - 10);
  const points = (name: keyof typeof NAMES) =>
    endless[name].map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const text = (at: number, height: number, words: string, anchor: string) =>
    svg("text", { x: at, y: height, "text-anchor": anchor }, words);
  const full = x(kept / endless.group - 0.5);
  const picture = svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "endless-chart",
      role: "img",
      "aria-label": t`Surprise along the text`,
    },
    svg("path", { class: "axis", d: `M${LEFT} ${y(0)}H${WIDTH - 10}` }),
    ...(full < WIDTH - 10 ? [svg("path", { class: "full", d: `M${full} 10V${y(0)}` })] : []),
    ...curves.map((name) => svg("polyline", { class: name, points: points(name) })),
    text(LEFT - 6, y(0) + 4, "0", "end"),
    text(LEFT - 6, 18, decimal(highest, 1), "end"),
    text(LEFT, HEIGHT - 6, "0", "start"),
    text(WIDTH - 10, HEIGHT - 6, countWords(count * endless.group, unit), "end"),
  );
  const legend = curves.map((name) => element("span", {}, element("i", { class: `endless-key ${name}` }), NAMES[name]));
  return element(
    "figure",
    { class: "wide-chart" },
    element(
      "figcaption",
      {},
      unit === "word"
        ? t`Surprise in nats a word. The dotted line: the rings are full.`
        : t`Surprise in nats a character. The dotted line: the rings are full.`,
    ),
    element("div", { class: "legend" }, ...legend),
    picture,
  );
}
