import { t } from "../../../texts/t.js";
import type { Quiz } from "./scenes.js";

/** Shows whether an answer is right, and why. */
export function answer(card: HTMLElement, { right, said }: Quiz, chosen: number): void {
  const chips = [...card.querySelectorAll<HTMLElement>("[data-answer]")];
  chips.forEach((chip, at) => {
    chip.ariaPressed = String(at === chosen);
    chip.classList.toggle("right", at === right);
  });
  const verdict = document.createElement("b");
  verdict.textContent = chosen === right ? t`Right. ` : t`Not so. `;
  card.querySelector(".said")!.replaceChildren(verdict, said);
}
