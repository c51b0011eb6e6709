import { CASES, engineName, type BenchFigure } from "../../engine/bench.js";
import { element, svg } from "../../shell/element.js";
import { chartLayout, HEIGHT, PLOT, WIDTH, type ChartLayout, type Label } from "./chartLayout.js";
import { intensityOf } from "./words.js";
import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";

const LABEL = t`Rate of each engine in each case, below its roof. The table after it has all numbers.`;
const INTENSITY_TICKS = [1, 4, 16, 64, 256];
/** A letter farther from its point than this gets a line to it. */
const FAR = 5;

/** Paths of marks around 0, one for each case. */
const MARKS = [
  "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
  "M-4.6-4.6h9.2v9.2h-9.2z",
  "M0-5.6l5.4 9.6h-10.8z",
  "M0-6l6 6l-6 6l-6-6z",
];

/** The letter of an engine. */
const letter = (figure: number) => String.fromCharCode("A".charCodeAt(0) + figure);

/** The figures as a roofline chart: both axes are logarithmic. Without figures it shows where the cases will stand. */
export function rooflineChart(figures: readonly BenchFigure[]): HTMLElement {
  const layout = chartLayout(figures);
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "roofline", role: "img", "aria-label": LABEL },
    ...grid(layout),
    ...layout.roofs.map(({ figure, path }) =>
      svg("polyline", { class: `roof engine-${figure}`, points: path.map((at) => at.join(",")).join(" ") }),
    ),
    ...layout.points.map(({ figure, case: index, x, y, gflops, intensity }) =>
      svg("path", {
        class: `mark engine-${figure}`,
        d: MARKS[index]!,
        transform: `translate(${x} ${y})`,
        "data-figure": figure,
        "data-case": index,
        "data-gflops": gflops,
        "data-intensity": intensity,
      }),
    ),
    ...layout.labels.flatMap(letterOf),
  );
  return element("figure", { class: "roofline-figure" }, picture, legend(figures));
}

function grid({ scale }: ChartLayout): SVGElement[] {
  const text = (x: number, y: number, words: string, anchor = "middle") =>
    svg("text", { x, y, "text-anchor": anchor }, words);
  const rates = Array.from({ length: scale.high - scale.low + 1 }, (_, n) => 10 ** (scale.low + n));
  return [
    ...rates.map((rate) => svg("path", { class: "axis", d: `M${PLOT.left} ${scale.y(rate)}H${PLOT.right}` })),
    ...rates.map((rate) => text(PLOT.left - 5, scale.y(rate) + 4, grouped(rate), "end")),
    ...CASES.map((_, index) =>
      svg("path", { class: "axis case", d: `M${scale.x(intensityOf(index))} ${PLOT.top}V${PLOT.bottom}` }),
    ),
    ...INTENSITY_TICKS.map((tick) => text(scale.x(tick), PLOT.bottom + 15, String(tick))),
    text((PLOT.left + PLOT.right) / 2, HEIGHT - 8, t`operations for each byte that must move`),
    svg(
      "text",
      { transform: `translate(11 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" },
      "GFLOP/s",
    ),
  ];
}

function letterOf({ figure, x, y, of }: Label): SVGElement[] {
  const name = svg("text", { class: `letter engine-${figure}`, x, y: y + 4, "text-anchor": "middle" }, letter(figure));
  if (Math.abs(y - of.y) <= FAR) return [name];
  const side = Math.sign(x - of.x);
  return [svg("path", { class: "leader", d: `M${of.x + 6 * side} ${of.y}L${x - 5 * side} ${y}` }), name];
}

function legend(figures: readonly BenchFigure[]): HTMLElement {
  const mark = (index: number) => svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { class: "mark", d: MARKS[index]! })); // oxfmt-ignore
  const shown = [...figures.entries()].filter(([, { times }]) => times.length > 0);
  return element(
    "figcaption",
    { class: "legend" },
    ...shown.map(([at, { engine }]) =>
      element("span", {}, element("b", { class: `letter engine-${at}` }, letter(at)), ` ${engineName(engine)}`),
    ),
    ...CASES.map(({ name }, index) => element("span", {}, mark(index), ` ${name}`)),
  );
}
