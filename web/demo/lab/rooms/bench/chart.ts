import { element } from "../../shell/element.js";
import { significant } from "../../shell/numbers.js";
import type { Bar, ShapeBars } from "./bars.js";
import { engineWords } from "./rows.js";
import { t } from "../../../texts/t.js";

/** More bars than these are not drawn. */
export const MOST_BARS = 300;
/** How many engines have a colour of their own. */
const COLOURS = 8;

/** Bars of every shape: the median, with a line from the first quartile to the third. */
export function benchChart(shapes: readonly ShapeBars[], engines: readonly string[], isRatio: boolean): HTMLElement {
  let left = MOST_BARS;
  const figures = shapes.flatMap((shape) => {
    const bars = shape.bars.slice(0, left);
    left -= bars.length;
    return bars.length > 0 ? [shapeFigure({ ...shape, bars }, engines, isRatio)] : [];
  });
  return element("div", { class: "bench-chart" }, ...figures);
}

function shapeFigure({ shape, bars, axis }: ShapeBars, engines: readonly string[], isRatio: boolean): HTMLElement {
  const unit = isRatio ? "×" : " ms";
  const ends = [axis.from, axis.to].map((value) => element("span", {}, `${significant(value)}${unit}`));
  const list = element("ul", { "aria-label": shape }, ...bars.map((bar) => {
    const colour = Math.max(engines.indexOf(bar.row.engine), 0) % COLOURS;
    return element("li", { class: `engine-${colour}` }, ...label(bar, unit), track(bar, axis.at, isRatio));
  })); // oxfmt-ignore
  const scale = element("div", { class: "bench-axis", "aria-hidden": "true" }, ...ends);
  return element("figure", {}, element("figcaption", {}, shape), list, scale);
}

function label({ row, value, low, high }: Bar, unit: string): HTMLElement[] {
  const spread = t`${significant(low)} to ${significant(high)}`;
  return [
    element(
      "span",
      { class: "bench-name" },
      element("b", {}, engineWords(row.engine)),
      ` ${row.version}, ${row.device}`,
    ),
    element("span", { class: "bench-value" }, `${significant(value)}${unit} `, element("small", {}, `(${spread})`)),
  ];
}

function track({ value, low, high }: Bar, at: (value: number) => number, isRatio: boolean): HTMLElement {
  const one = element("i", { class: "bench-one" });
  place(one, at(1), at(1));
  const bar = element("i", { class: "bench-bar" });
  place(bar, 0, at(value));
  const spread = element("i", { class: "bench-spread" });
  place(spread, at(low), at(high));
  const hasOne = isRatio && at(1) >= 0 && at(1) <= 1;
  return element("div", { class: "bench-track", "aria-hidden": "true" }, bar, spread, ...(hasOne ? [one] : []));
}

function place(node: HTMLElement, from: number, to: number): void {
  node.style.left = `${100 * from}%`;
  node.style.width = `${100 * (to - from)}%`;
}
