/** What a room can show as a film: a training, or its scenes. */
export interface Film {
  /** What it is of, as in "the training". */
  readonly what: string;
  /** The part of the room that is drawn, as it is now. */
  readonly node: HTMLElement;
  /** How many there are. */
  readonly pictures: number;
  /** How long each picture stays. */
  readonly milliseconds: number;
  /** Shows a picture of the film in the room; resolves when it is drawn. */
  show(picture: number): Promise<Shot>;
  /** Shows again what the room showed before. */
  end(): void;
}

/** What a picture of a film shows. */
export interface Shot {
  /** What is said above it. */
  readonly caption: string;
  /** What moves in it: the film shows that too. */
  readonly motion: readonly Animation[];
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
/** Between two pictures of a motion. */
const MOTION_MS = 150;

/** A picture of a film, and how long it stays. */
export interface Frame {
  readonly picture: HTMLCanvasElement;
  readonly milliseconds: number;
}

/** Draws a film picture by picture; what moves in one is drawn on its way, before it rests. Ends when `goOn` says so. */
export async function framesOf(
  film: Film,
  draw: (caption: string) => Promise<HTMLCanvasElement>,
  goOn: (drawn: number, of: number) => boolean,
): Promise<readonly Frame[] | undefined> {
  const chosen = chosenPictures(film.pictures);
  const frames: Frame[] = [];
  try {
    for (const [at, picture] of chosen.entries()) {
      const isLast = at === chosen.length - 1;
      const { caption, motion } = await film.show(picture);
      for (const milliseconds of moments(motion, film.milliseconds * (isLast ? LAST : 1))) {
        frames.push({ picture: await draw(caption), milliseconds });
        if (!goOn(at + 1, chosen.length)) return undefined;
      }
    }
  } finally {
    film.end();
  }
  return frames;
}

/** Brings what moves to one moment after another, and then to rest. Says how long each of them is shown. */
function* moments(motion: readonly Animation[], rest: number): Generator<number> {
  const ways = motion.map((animation) => {
    const { delay, endTime } = animation.effect!.getComputedTiming();
    const begin = Number(animation.startTime);
    return { animation, begin, moves: begin + delay!, rests: begin + Number(endTime) };
  });
  for (const { animation } of ways) animation.pause();
  const end = Math.max(...ways.map(({ rests }) => rests));
  try {
    for (let now = Math.min(...ways.map(({ moves }) => moves)); now < end; now += MOTION_MS) {
      for (const { animation, begin } of ways) animation.currentTime = now - begin;
      yield MOTION_MS;
    }
  } finally {
    for (const { animation } of ways) animation.finish(); // also if the film ends on the way
  }
  yield rest;
}

/** A GIF that goes round for ever. */
export async function gifOf(drawn: readonly Frame[]): Promise<Blob> {
  const { encode } = await import("modern-gif");
  const width = Math.max(...drawn.map(({ picture }) => picture.width));
  const height = Math.max(...drawn.map(({ picture }) => picture.height));
  const frames = drawn.map(({ picture, milliseconds: delay }) => ({ data: placed(picture, width, height), delay }));
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
