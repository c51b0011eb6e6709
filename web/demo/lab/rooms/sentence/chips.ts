import { element } from "../../shell/element.js";

/** Fills a group with one button for each of the visitor's texts. Buttons stay in the page while their texts stay. */
export function chips(
  group: HTMLElement,
  texts: readonly string[],
  chosen: number,
  onChoose: (index: number) => void,
): void {
  if ([...group.children].map(({ textContent }) => textContent).join("\n") !== texts.join("\n"))
    group.replaceChildren(...texts.map((text) => element("button", { type: "button", translate: "no" }, text)));
  [...group.children].forEach((chip, index) => {
    (chip as HTMLButtonElement).onclick = () => onChoose(index);
    chip.ariaPressed = String(index === chosen);
  });
}
