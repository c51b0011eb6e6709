import { pixelOf } from "./axis.js";
import type { Bins, ByAxis, Span } from "./bins.js";
import type { CellNumbers } from "./cellNumbers.js";
import { NOT_A_NUMBER, shadeOf, type ColourTable } from "./colours.js";
import { make } from "./make.js";

/** Where on a canvas cells are drawn, in its pixels, and which cells. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly sight: ByAxis<Span>;
}

/** Blocks as a picture with one pixel for each. Hidden and unknown blocks are transparent. */
export function cellPicture(bins: Bins, table: ColourTable): ImageData {
  const picture = new ImageData(bins.across, bins.down);
  bins.values.forEach((value, i) => {
    if (value === -Infinity || !bins.known[Math.floor(i / bins.across)]) return;
    const at = shadeOf(value, table);
    picture.data.set(Number.isNaN(value) ? NOT_A_NUMBER.bytes : table.bytes.subarray(at, at + 4), 4 * i);
  });
  return picture;
}

/** A picture of the hidden blocks only, opaque; undefined if there is none. */
export function hiddenPicture(bins: Bins): ImageData | undefined {
  let any = false;
  const picture = new ImageData(bins.across, bins.down);
  bins.values.forEach((value, i) => {
    if (value !== -Infinity || !bins.known[Math.floor(i / bins.across)]) return;
    any = true;
    picture.data[4 * i + 3] = 255;
  });
  return any ? picture : undefined;
}

/** Draws blocks at their place in the plot. Hidden blocks are hatched. Returns whether there were any. */
export function paintBins(
  context: CanvasRenderingContext2D,
  plot: Plot,
  bins: Bins,
  block: ByAxis<number>,
  table: ColourTable,
  hatch: CanvasPattern,
): boolean {
  if (bins.across * bins.down === 0) return false;
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top, plot.width, plot.height);
  context.clip();
  context.imageSmoothingEnabled = false;
  drawPicture(context, cellPicture(bins, table), plot, bins, block);
  const hidden = hiddenPicture(bins);
  if (hidden) {
    const layer = canvasOf(context.canvas.width, context.canvas.height);
    layer.imageSmoothingEnabled = false;
    drawPicture(layer, hidden, plot, bins, block);
    layer.globalCompositeOperation = "source-in";
    layer.fillStyle = hatch;
    layer.fillRect(0, 0, layer.canvas.width, layer.canvas.height);
    context.drawImage(layer.canvas, 0, 0);
  }
  context.restore();
  return hidden !== undefined;
}

function drawPicture(
  context: CanvasRenderingContext2D,
  picture: ImageData,
  plot: Plot,
  { cells, across, down }: Bins,
  block: ByAxis<number>,
): void {
  const { rows, columns } = plot.sight;
  const x = pixelOf(cells.columns.from, columns, plot.width);
  const y = pixelOf(cells.rows.from, rows, plot.height);
  // the last block may reach beyond the last cell; the edge of the plot cuts it off
  const right = pixelOf(cells.columns.from + across * block.columns, columns, plot.width);
  const bottom = pixelOf(cells.rows.from + down * block.rows, rows, plot.height);
  const small = canvasOf(picture.width, picture.height);
  small.putImageData(picture, 0, 0);
  context.drawImage(small.canvas, plot.left + x, plot.top + y, right - x, bottom - y);
}

/** A pattern of diagonal lines. `scale` is canvas pixels for each CSS pixel. */
export function hatchPattern(context: CanvasRenderingContext2D, colour: string, scale: number): CanvasPattern {
  const side = Math.round(6 * scale);
  const tile = canvasOf(side, side);
  tile.strokeStyle = colour;
  tile.lineWidth = scale;
  for (const shift of [-side, 0, side]) {
    tile.moveTo(shift, side);
    tile.lineTo(shift + side, 0);
  }
  tile.stroke();
  return context.createPattern(tile.canvas, "repeat")!;
}

/** Draws gaps between cells, if the cells are large enough. */
export function paintGaps(context: CanvasRenderingContext2D, plot: Plot, colour: string, scale: number): void {
  const { rows, columns } = plot.sight;
  const cell = Math.min(plot.width / (columns.to - columns.from), plot.height / (rows.to - rows.from));
  if (cell < 9 * scale) return;
  context.fillStyle = colour;
  for (let i = Math.ceil(columns.from); i <= columns.to; ++i) {
    context.fillRect(Math.round(plot.left + pixelOf(i, columns, plot.width)), plot.top, scale, plot.height);
  }
  for (let i = Math.ceil(rows.from); i <= rows.to; ++i) {
    context.fillRect(plot.left, Math.round(plot.top + pixelOf(i, rows, plot.height)), plot.width, scale);
  }
}

/** Draws numbers in the middle of their cells. */
export function paintNumbers(
  context: CanvasRenderingContext2D,
  plot: Plot,
  { size, items }: CellNumbers,
  fontFamily: string,
  scale: number,
): void {
  const { rows, columns } = plot.sight;
  context.font = `${size * scale}px ${fontFamily}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { row, column, text, ink } of items) {
    context.fillStyle = ink;
    const x = plot.left + pixelOf(column + 0.5, columns, plot.width);
    context.fillText(text, x, plot.top + pixelOf(row + 0.5, rows, plot.height));
  }
}

export function canvasOf(width: number, height: number): CanvasRenderingContext2D {
  return make("canvas", { width: Math.max(width, 1), height: Math.max(height, 1) }).getContext("2d")!;
}
