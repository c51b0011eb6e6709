import type { Difference } from "../engine/difference.js";
import type { Engine } from "../engine/engine.js";
import type { Film } from "../share/film.js";
import type { Fields, Values } from "./field.js";
import type { State } from "./state.js";

/** What the shell gives to a room when it is opened. */
export interface RoomView<F extends Fields> {
  /** The element for the content of the room. */
  readonly stage: HTMLElement;
  readonly state: State<F>;
  /** The current engine. The visitor may choose another one at any time. */
  readonly engine: Engine;
  /**
   * Calls `draw` now, and after every change of the state or the engine. After several quick changes it is called once.
   */
  onDraw(draw: (values: Values<F>) => Promise<void>): void;
  /** Shows another title than the room's name, such as the question that the room answers. */
  title(words: string): void;
  /** Shows the room's finding, one sentence under its title. A room says it anew whenever it draws. */
  finding(sentence: string): void;
  /** Says what is random in what is shown; "": nothing is. For a room where that changes; the note of `room` never does. */
  random(words: string): void;
  /** Draws again after a change that is not in the state. */
  redraw(): void;
  /** Sets the function that writes a program for what is shown. */
  onCode(code: (values: Values<F>) => string): void;
  /** Sets the function that compares what is shown with a computation in double precision. */
  onCheck(check: (values: Values<F>) => Promise<readonly Difference[]>): void;
  /** Sets the function that gives the film of the room, as it is now; undefined while there is none. */
  onFilm(film: () => Film | undefined): void;
  /** A button of the room takes the place of "Share this figure" below the room. */
  shareBy(own: HTMLButtonElement): void;
  /** Sets the function that takes files dropped anywhere in the page. A zone that takes them itself prevents the default. */
  onFiles(take: (files: readonly File[]) => void): void;
  /** Says that something failed after it was drawn, and offers to draw again. */
  fail(error: Error): void;
  /** Opens another room with these settings, and gives it files as if they were dropped there. */
  carry(door: string, settings: Readonly<Record<string, string>>, files: readonly File[]): void;
  /** Sets a function to call when the visitor leaves the room. */
  onClose(close: () => void): void;
}

export interface Room<F extends Fields = Fields> {
  readonly fields: F;
  /** Says what is random in this room; absent if nothing is. */
  readonly random?: string;
  open(view: RoomView<F>): void;
}

/** Makes a room. Only the room's own file knows the types of its fields. */
export function room<F extends Fields>(
  fields: F,
  open: (view: RoomView<F>) => void,
  notes: { readonly random?: string } = {},
): Room {
  return { fields, open, ...notes };
}
