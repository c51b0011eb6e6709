import { svg } from "../../shell/element.js";
import { axisSteps, HEIGHT, placeOfStep, placeOfValue, PLOT, points, WIDTH, type Curve } from "./curves.js";
import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";

export interface ChartOptions {
  readonly label: string;
  /** The value at the top. */
  readonly highest: number;
  readonly ticks: readonly number[];
  readonly shown: (value: number) => string;
  /** Called with the step that the visitor has clicked at. */
  readonly onStep: (step: number) => void;
}

/** Curves of a training. They are changed in place, so that a long training costs no more than a short one. */
export class CurveChart {
  readonly node: SVGSVGElement;
  readonly #highest: number;
  readonly #lines = { two: svg("polyline", { class: "two" }), one: svg("polyline", { class: "one" }) };
  readonly #marks = svg("g", { class: "marks" });
  readonly #now = svg("path", { class: "now" });
  readonly #middle = tick(0, "middle");
  readonly #last = tick(0, "end");
  #steps = axisSteps(0);

  constructor({ label, highest, ticks, shown, onStep }: ChartOptions) {
    this.#highest = highest;
    const heights = ticks.map((value) => placeOfValue(value, highest));
    this.node = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "learning-curve", role: "img", "aria-label": label },
      ...heights.map((y) => svg("path", { class: "axis", d: `M${PLOT.left} ${y}H${PLOT.right}` })),
      ...ticks.map((value, n) =>
        svg("text", { x: PLOT.left - 6, y: heights[n]! + 4, "text-anchor": "end" }, shown(value)),
      ),
      this.#marks,
      this.#lines.one,
      this.#lines.two,
      this.#now,
      tick(PLOT.left, "start", "0"),
      this.#middle,
      this.#last,
    );
    this.node.addEventListener("click", ({ clientX }) => {
      const { left, width } = this.node.getBoundingClientRect();
      const share = (((clientX - left) / width) * WIDTH - PLOT.left) / (PLOT.right - PLOT.left);
      onStep(Math.round(share * this.#steps));
    });
  }

  /** Shows curves over so many steps, marks at some of them, and a line at the step that is shown. */
  show(curves: readonly Curve[], made: number, marks: readonly number[], now: number): void {
    const steps = axisSteps(made);
    this.#steps = steps;
    for (const kind of ["two", "one"] as const) {
      const curve = curves.find((each) => each.kind === kind);
      this.#lines[kind].setAttribute("points", curve ? points(curve.points, steps, this.#highest) : "");
    }
    const at = (step: number) => placeOfStep(step, steps).toFixed(1);
    this.#marks.replaceChildren(
      ...[...new Set(marks)].map((step) => svg("path", { d: `M${at(step)} ${PLOT.top}V${PLOT.bottom}` })),
    );
    this.#now.setAttribute("d", `M${at(now)} ${PLOT.top}V${PLOT.bottom}`);
    this.#middle.textContent = grouped(steps / 2);
    this.#middle.setAttribute("x", at(steps / 2));
    this.#last.textContent = t`${grouped(steps)} steps`;
    this.#last.setAttribute("x", String(PLOT.right));
  }
}

function tick(x: number, anchor: string, words = ""): SVGTextElement {
  return svg("text", { x, y: HEIGHT - 8, "text-anchor": anchor }, words);
}
