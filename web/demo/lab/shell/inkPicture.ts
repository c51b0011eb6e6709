/** A colour as a number, without opacity: the bytes of a pixel are red, green, blue and opacity. */
export type Ink = number;

/** The colour that the style sheet gives to an element. Read it before the page is changed: it may need a new layout. */
export function inkOf(node: Element): Ink {
  const [red = 0, green = 0, blue = 0] = (/[\d.]+.*/.exec(getComputedStyle(node).color)?.[0] ?? "")
    .split(/[^\d.]+/)
    .map(Number);
  return red | (green << 8) | (blue << 16);
}

/**
 * Paints weights from 0 to 1 as pixels of one colour. The opacity is the root of a weight, which makes small ones
 * visible.
 */
export function inkPicture(canvas: HTMLCanvasElement, weights: Float32Array, rows: number, ink: Ink): void {
  const columns = weights.length / rows;
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  const pixels = new Uint32Array(weights.length);
  for (let at = 0; at < pixels.length; at++) pixels[at] = ink | (Math.round(255 * Math.sqrt(weights[at]!)) << 24);
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows);
  canvas.getContext("2d")!.putImageData(image, 0, 0);
}
