import type { Encoding } from "../../../model/encoder.js";
import { similarities } from "../../../model/similarity.js";
import { matrix } from "../../shell/matrix.js";
import { NumberGrid } from "../../shell/numberGrid.js";
import { t } from "../../../texts/t.js";

/** The cosine similarity of every pair of sentences. */
export class SimilarityBoard {
  readonly #grid = new NumberGrid({ name: t`Cosines`, onCell: () => {} });
  readonly node = this.#grid.node;

  constructor() {
    this.node.translate = false; // it shows the visitor's sentences
  }

  show(encodings: readonly Encoding[]): void {
    const rows = similarities(encodings.map(({ embedding }) => embedding));
    const labels = encodings.map(({ text }, index) => `${index + 1}  ${text}`);
    this.#grid.show(
      matrix(rows.length, rows.length, (row, column) => rows[row]![column]!),
      {
        rows: labels,
        columns: rows.map((_, index) => String(index + 1)),
      },
    );
  }
}
