import { button } from "../shell/controls.js";
import type { Door } from "../rooms/rooms.js";
import { element } from "../shell/element.js";
import type { Fields } from "../shell/field.js";
import type { State } from "../shell/state.js";
import { elementMarkup, frameMarkup, type ShownFigure } from "./markup.js";
import "./embedButton.css";

/** What a figure has around its stage: heading, finding, link. */
const AROUND_STAGE = 170;

/** A button that shows how to put the room, as it is now, into another page. */
export function embedButton({ id, title }: Door, stage: HTMLElement, state: State<Fields>): HTMLButtonElement {
  return button("Embed this figure", () => {
    const lab = location.origin + new URL("./", location.href).pathname;
    const height = Math.ceil(stage.offsetHeight) + AROUND_STAGE;
    openDialog({ lab, room: id, settings: state.query.toString(), title, height });
  });
}

function openDialog(figure: ShownFigure): void {
  const status = element("p", { class: "hint", role: "status" });
  const heading = element("h2", { id: "embed-heading" }, "Embed this figure");
  const dialog = element(
    "dialog",
    { class: "embed", "aria-labelledby": "embed-heading" },
    heading,
    element("p", { class: "hint" }, "Both forms show this room with the settings that it has now."),
    copyable("A script and an element; its height follows its content", elementMarkup(figure), status),
    copyable("A frame; it needs no script, and its height is fixed", frameMarkup(figure), status),
    status,
    button("Close", () => dialog.close()),
  );
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}

/** A text with a button that copies it. */
function copyable(label: string, text: string, status: HTMLElement): HTMLElement {
  const area = element("textarea", { readonly: "", rows: "5", spellcheck: "false" }, text);
  const copy = button("Copy", () => {
    area.select();
    navigator.clipboard.writeText(text).then(
      () => (status.textContent = "Copied."),
      () =>
        (status.textContent =
          "This browser does not let the page copy. The text is selected: copy it with the keyboard."),
    );
  });
  copy.ariaLabel = `Copy: ${label}`;
  return element("div", { class: "copyable" }, element("label", {}, label, area), copy);
}
