import { button } from "../shell/controls.js";
import { t } from "../../texts/t.js";
import type { Shared } from "./shared.js";

/**
 * A button for the address of what is shown, its picture, its film, and the HTML that puts it into another page. What it needs
 * is loaded when it is pressed.
 */
export function shareButton(shared: Shared): HTMLButtonElement {
  return button(t`Share this figure`, () => openDialog(shared));
}

/** Shares each card of the room whose own button is pressed. */
export function shareCards(shared: Shared): void {
  shared.stage.addEventListener("click", ({ target }) => {
    const card = (target as Element).closest(".share-card")?.closest(".card");
    if (card) openDialog(shared, card);
  });
}

function openDialog(shared: Shared, card?: Element): void {
  import("./shareDialog.js").then(({ share }) => share(shared, card)).catch(shared.fail);
}
