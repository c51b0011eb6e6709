import { similarities, similarityText } from "../model/similarity.js";
import { viridis } from "../model/viridis.js";
import { element } from "./element.js";
import type { Encoding } from "../model/encoder.js";

/** Every sentence against every other. */
export function similarityMatrix(encodings: readonly Encoding[]): HTMLTableElement {
  const rows = similarities(encodings.map(({ embedding }) => embedding));
  return element(
    "table",
    { "aria-labelledby": "similarity-title" },
    element(
      "thead",
      {},
      element("tr", {}, element("td"), ...rows.map((_, i) => element("th", { scope: "col" }, String(i + 1)))),
    ),
    element(
      "tbody",
      {},
      ...rows.map((row, i) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, `${i + 1}  ${encodings[i]!.text}`),
          ...row.map(similarityCell),
        ),
      ),
    ),
  );
}

function similarityCell(value: number): HTMLTableCellElement {
  const cell = element("td", {}, similarityText(value));
  cell.style.backgroundColor = `rgb(${viridis(value).join(" ")})`;
  cell.style.color = value > 0.5 ? "#000" : "#fff";
  return cell;
}
