import { whole } from "./axis.js";
import { bin, fartherFromZero, larger, ofHead, type Bins, type ByAxis, type Span } from "./bins.js";
import type { Kind } from "./colours.js";
import type { Slice, Slices } from "./slices.js";
import { Summary } from "./summary.js";
import type { HiddenRule } from "./visibility.js";

/** A part of a head, reduced to blocks as large as pixels, or to single cells. */
export interface Picture {
  readonly bins: Bins;
  readonly block: ByAxis<number>;
}

/** The part of a head that is drawn, and the size of its picture in pixels. */
export interface Scene {
  readonly head: number;
  readonly sight: ByAxis<Span>;
  readonly pixels: ByAxis<number>;
}

/** Stands between slices and pictures. It knows which rows a scene needs, and reduces them to pixels. */
export class MapData {
  readonly #summaries = new Map<number, Summary>();
  readonly #extents: ByAxis<number>;

  /** @param inUnits - Whether each row is divided by its own maximum. */
  constructor(
    readonly slices: Slices,
    readonly rule: HiddenRule | undefined,
    readonly kind: Kind,
    readonly inUnits: boolean,
  ) {
    this.#extents = { rows: slices.source.queries, columns: slices.source.keys };
  }

  take({ head, index }: Slice, rows: Float32Array): void {
    this.summary(head).add(index * this.slices.rowsPerSlice, rows);
  }

  summary(head: number): Summary {
    let summary = this.#summaries.get(head);
    if (!summary) this.#summaries.set(head, (summary = new Summary(this.#extents, this.#binRule(head), this.inUnits)));
    return summary;
  }

  picture(scene: Scene): Picture {
    const { head, sight } = scene;
    const part = { rows: whole(sight.rows), columns: whole(sight.columns) };
    const block = this.#blockFor(scene);
    const summary = this.summary(head);
    if (this.#fromSummary(scene)) return { bins: summary.bins(part, block), block };
    const unitOf = this.inUnits ? (row: number) => summary.unitOf(row) : undefined;
    const rowOf = (query: number) => this.slices.row(head, query);
    return { bins: bin(rowOf, this.#extents, part, block, { ...this.#binRule(head), unitOf }), block };
  }

  /** The slices that a scene needs, whether they have arrived or not. */
  slicesOf({ head, sight }: Scene): Slice[] {
    const { from, to } = whole(sight.rows);
    return this.slices.slicesOf(head, from, to);
  }

  /** Whether the scene can be drawn without a slice that has not arrived. */
  has(scene: Scene, slice: Slice): boolean {
    if (!this.#fromSummary(scene)) return this.slices.has(slice);
    const from = slice.index * this.slices.rowsPerSlice;
    return this.summary(scene.head).hasSeen({
      from,
      to: Math.min(from + this.slices.rowsPerSlice, this.#extents.rows),
    });
  }

  isHidden(head: number, query: number, key: number): boolean {
    return this.rule?.(query, key, head) === true || this.slices.row(head, query)?.[key] === -Infinity;
  }

  /** Whether a scene is drawn from the summary: it is far zoomed out, or it has more rows than are kept. */
  #fromSummary(scene: Scene): boolean {
    const summary = this.summary(scene.head);
    if (!summary.isUseful) return false;
    const { rows, columns } = cellsPerPixel(scene);
    const isFine = rows < summary.block.rows || columns < summary.block.columns;
    return !isFine || scene.sight.rows.to - scene.sight.rows.from > this.slices.rowsKept;
  }

  #blockFor(scene: Scene): ByAxis<number> {
    const { rows, columns } = cellsPerPixel(scene);
    const unit = this.#fromSummary(scene) ? this.summary(scene.head).block : { rows: 1, columns: 1 };
    const block = (cells: number, own: number) => own * Math.max(1, Math.ceil(cells / own - 1e-6));
    return { rows: block(rows, unit.rows), columns: block(columns, unit.columns) };
  }

  #binRule(head: number) {
    return { stronger: this.kind === "probs" ? larger : fartherFromZero, isHidden: ofHead(this.rule, head) };
  }
}

function cellsPerPixel({ sight, pixels }: Scene): ByAxis<number> {
  return {
    rows: (sight.rows.to - sight.rows.from) / pixels.rows,
    columns: (sight.columns.to - sight.columns.from) / pixels.columns,
  };
}
