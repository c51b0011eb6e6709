import { button } from "../shell/controls.js";
import { t } from "../../texts/t.js";
import type { Shared } from "./shared.js";

/**
 * A button for the address of what is shown, its picture, its film, and the HTML that puts it into another page. What it needs
 * is loaded when it is pressed.
 */
export function shareButton(shared: Shared): HTMLButtonElement {
  return button(t`Share this figure`, () => {
    import("./shareDialog.js").then(({ share }) => share(shared)).catch(shared.fail);
  });
}
