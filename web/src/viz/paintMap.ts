import type { ByAxis, Span } from "./bins.js";
import { cellNumbers, type CellNumbers } from "./cellNumbers.js";
import type { ColourTable } from "./colours.js";
import type { AxisTexts } from "./labels.js";
import { LABEL_SIZE } from "./labels.js";
import type { MapData, Picture } from "./mapData.js";
import type { MapLayout } from "./mapLayout.js";
import { paintLabels } from "./paintLabels.js";
import { hatchPattern, paintBins, paintGaps, paintNumbers, type Plot } from "./painting.js";
import type { Theme } from "./theme.js";

/** What is needed to draw a map, besides its numbers. */
export interface MapLook {
  readonly layout: MapLayout;
  readonly labels: ByAxis<AxisTexts>;
  readonly table: ColourTable;
  readonly theme: Theme;
}

/** What a drawn map shows. */
export interface Drawn {
  readonly hasHidden: boolean;
  readonly hasNumbers: boolean;
}

/** Draws cells, numbers, gaps and labels. `scale` is canvas pixels for each CSS pixel. */
export function paintMap(
  context: CanvasRenderingContext2D,
  { bins, block }: Picture,
  sight: ByAxis<Span>,
  { layout, labels, table, theme }: MapLook,
  numbers: CellNumbers | undefined,
  scale: number,
): Drawn {
  const plot: Plot = {
    left: Math.round(layout.left * scale),
    top: Math.round(layout.top * scale),
    width: Math.round(layout.width * scale),
    height: Math.round(layout.height * scale),
    sight,
  };
  context.fillStyle = theme.surface;
  context.fillRect(plot.left, plot.top, plot.width, plot.height);
  const hasHidden = paintBins(context, plot, bins, block, table, hatchPattern(context, theme.hatch, scale));
  paintGaps(context, plot, theme.surface, Math.max(1, Math.round(scale)));
  if (numbers) paintNumbers(context, plot, numbers, theme.fontFamily, scale);
  context.strokeStyle = theme.line;
  context.lineWidth = scale;
  context.strokeRect(plot.left - scale / 2, plot.top - scale / 2, plot.width + scale, plot.height + scale);
  context.save();
  context.scale(scale, scale);
  paintLabels(context, layout, sight, labels, theme);
  context.restore();
  return { hasHidden, hasNumbers: numbers !== undefined };
}

/** The numbers for the cells of a picture; undefined if its blocks are not single cells, or if there is no room. */
export function numbersIn(
  { bins, block }: Picture,
  sight: ByAxis<Span>,
  { layout, table, labels }: MapLook,
  map: MapData,
  head: number,
): CellNumbers | undefined {
  if (block.rows * block.columns !== 1) return undefined;
  const cell = {
    width: layout.width / (sight.columns.to - sight.columns.from),
    height: layout.height / (sight.rows.to - sight.rows.from),
  };
  const valueOf = (row: number, column: number) => map.slices.row(head, row)?.[column];
  const widthOf = (text: string) => labels.rows.widthOf(text) / LABEL_SIZE;
  return cellNumbers(bins, cell, map.kind, table, valueOf, widthOf);
}

/** Draws a small picture of a whole head on a canvas of `side` CSS pixels. */
export function paintThumbnail(
  canvas: HTMLCanvasElement,
  map: MapData,
  head: number,
  table: ColourTable,
  theme: Theme,
  side: number,
): void {
  const { queries, keys } = map.slices.source;
  const sight = { rows: { from: 0, to: queries }, columns: { from: 0, to: keys } };
  if (!map.summary(head).hasSeen(sight.rows)) return;
  const pixels = Math.round(side * devicePixelRatio);
  canvas.width = canvas.height = pixels;
  Object.assign(canvas.style, { width: `${side}px`, height: `${side}px` });
  const { bins, block } = map.picture({ head, sight, pixels: { rows: pixels, columns: pixels } });
  const context = canvas.getContext("2d")!;
  const plot = { left: 0, top: 0, width: pixels, height: pixels, sight };
  paintBins(context, plot, bins, block, table, hatchPattern(context, theme.hatch, devicePixelRatio));
}
