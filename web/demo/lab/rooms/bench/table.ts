import { element } from "../../shell/element.js";
import { significant, withUnit } from "../../shell/numbers.js";
import { engineWords, type Row } from "./rows.js";
import { t } from "../../../texts/t.js";
import { PERCENT } from "../../../texts/percent.js";

/** More rows than these are not drawn. The exports have all. */
export const MOST_ROWS = 300;

const HEAD = [t`Shape`, t`Engine`, t`Version`, t`Device`, t`Median`, t`Quartiles`, t`Samples`, t`Of the roof`, t`File`];

export function benchTable(rows: readonly Row[]): HTMLElement {
  const lines = rows.slice(0, MOST_ROWS).map((row) => {
    const cells = [
      engineWords(row.engine),
      row.version,
      row.device,
      withUnit(significant(row.median), "ms"),
      t`${significant(row.low)} to ${significant(row.high)} ms`,
      String(row.samples.length),
      `${(100 * row.roof).toFixed(0)}${PERCENT}`,
      row.file,
    ];
    const data = cells.map((words, n) => element("td", { "data-label": HEAD[n + 1]! }, words));
    return element("tr", {}, element("th", { scope: "row" }, row.shape), ...data);
  });
  return element(
    "table",
    { class: "figures stacks bench-times", "aria-label": t`Times of all files` },
    element("thead", {}, element("tr", {}, ...HEAD.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...lines),
  );
}
