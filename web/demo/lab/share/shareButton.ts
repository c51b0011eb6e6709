import type { Door } from "../rooms/rooms.js";
import { button } from "../shell/controls.js";
import type { Fields } from "../shell/field.js";
import type { State } from "../shell/state.js";
import { t } from "../../texts/t.js";
import type { Film } from "./film.js";

/** What can be shared of a room. */
export interface Shared {
  readonly door: Door;
  readonly stage: HTMLElement;
  /** The settings that the room has now. */
  readonly state: () => State<Fields>;
  readonly film: () => Film | undefined;
  readonly fail: (error: unknown) => void;
}

/**
 * A button for the address of what is shown, its picture, its film, and the HTML that puts it into another page. What it needs
 * is loaded when it is pressed.
 */
export function shareButton(shared: Shared): HTMLButtonElement {
  return button(t`Share this figure`, () => {
    import("./shareDialog.js").then(({ share }) => share(shared)).catch(shared.fail);
  });
}
