import { button } from "../shell/controls.js";
import { t } from "../../texts/t.js";
import type { Film } from "./film.js";

/** What can be shared of a room. */
export interface Shared {
  readonly title: string;
  readonly stage: HTMLElement;
  readonly film: () => Film | undefined;
  readonly fail: (error: unknown) => void;
}

/** A button for the address of what is shown, its picture and its film. What it needs is loaded when it is pressed. */
export function shareButton({ title, stage, film, fail }: Shared): HTMLButtonElement {
  return button(t`Share this figure`, () => {
    import("./shareDialog.js").then(({ share }) => share(title, stage, film())).catch(fail);
  });
}
