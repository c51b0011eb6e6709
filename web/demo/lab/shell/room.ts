import type { Difference } from "../engine/difference.js";
import type { Engine } from "../engine/engine.js";
import type { Fields, Values } from "./field.js";
import type { State } from "./state.js";

/** What the shell gives to a room that is entered. */
export interface RoomView<F extends Fields> {
  /** Where the room puts what it shows. */
  readonly stage: HTMLElement;
  readonly state: State<F>;
  /** The engine as it is now: a visitor may choose another at any time. */
  readonly engine: Engine;
  /** Draws now, and again after every change of the state or the engine; of changes in quick succession the last counts. */
  onDraw(draw: (values: Values<F>) => Promise<void>): void;
  /** Draws again for a reason that the state does not know. */
  redraw(): void;
  /** A program that computes what is shown. */
  onCode(code: (values: Values<F>) => string): void;
  /** Compares what is shown with a computation in double precision. */
  onCheck(check: (values: Values<F>) => Promise<readonly Difference[]>): void;
  /** The room is left. */
  onClose(close: () => void): void;
}

export interface Room<F extends Fields = Fields> {
  readonly fields: F;
  open(view: RoomView<F>): void;
}

/** A room whose fields are known in its own file and nowhere else. */
export function room<F extends Fields>(fields: F, open: (view: RoomView<F>) => void): Room {
  return { fields, open };
}
