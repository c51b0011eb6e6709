/** What a room can show as a film: a training, or its scenes. */
export interface Film {
  /** What it is of, as in "the training". */
  readonly what: string;
  /** The part of the room that is drawn, as it is now. */
  readonly node: HTMLElement;
  /** What is said above each picture. */
  readonly captions: readonly string[];
  /** How long each picture stays. */
  readonly milliseconds: number;
  /** Shows a picture of the film in the room; resolves when it is drawn. */
  show(picture: number): Promise<void>;
  /** Shows again what the room showed before. */
  end(): void;
}

/** A film has at most so many pictures: from more, these are chosen, evenly, with the first and the last one. */
export const MOST_PICTURES = 24;

/** Which of `count` pictures a film shows. */
export function chosenPictures(count: number): number[] {
  const shown = Math.min(count, MOST_PICTURES);
  return Array.from({ length: shown }, (_, at) => (shown === 1 ? 0 : Math.round((at * (count - 1)) / (shown - 1))));
}

/** The last picture stays longer, so that people see where the film ends before it begins again. */
const LAST = 4;

/** A GIF that goes round for ever. */
export async function gifOf(pictures: readonly HTMLCanvasElement[], milliseconds: number): Promise<Blob> {
  const { encode } = await import("modern-gif");
  const width = Math.max(...pictures.map((each) => each.width));
  const height = Math.max(...pictures.map((each) => each.height));
  const frames = pictures.map((picture, at) => ({
    data: placed(picture, width, height),
    delay: at === pictures.length - 1 ? LAST * milliseconds : milliseconds,
  }));
  return encode({ width, height, frames, looped: true, format: "blob" });
}

/** A picture at the upper left of a larger one: the pictures of a film are equally large. */
function placed(picture: HTMLCanvasElement, width: number, height: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, width, height);
  context.drawImage(picture, 0, 0);
  return canvas;
}
