import { button } from "../shell/controls.js";
import type { Door } from "../rooms/rooms.js";
import { element } from "../shell/element.js";
import type { Fields } from "../shell/field.js";
import type { State } from "../shell/state.js";
import { t } from "../../texts/t.js";
import { cardName, CARDS } from "./cards.js";
import { elementMarkup, frameMarkup, type ShownFigure } from "./markup.js";
import "./embedButton.css";

/** What a whole room and one card have around them: heading, finding, link. */
const AROUND_STAGE = 170;
const AROUND_CARD = 70;
/** The height for a card that a phone does not show now. */
const UNSEEN = 640;

/** A button that shows how to put the room, or one card of it, as it is now, into another page. */
export function embedButton({ id, title }: Door, stage: HTMLElement, state: State<Fields>): HTMLButtonElement {
  return button(t`Embed this figure`, () => {
    const lab = location.origin + new URL("./", location.href).pathname;
    const common = { lab, room: id, settings: state.query.toString() };
    const height = (node: HTMLElement, around: number) => (Math.ceil(node.offsetHeight) || UNSEEN) + around;
    const cards = [...document.querySelectorAll<HTMLElement>(CARDS)].map((card, index) => ({
      ...common,
      title: cardName(card),
      card: String(index + 1),
      height: height(card, AROUND_CARD),
    }));
    openDialog([{ ...common, title, card: "", height: height(stage, AROUND_STAGE) }, ...cards]);
  });
}

/** Offers the whole room, which is the first of the figures, and each of its cards. */
function openDialog(figures: readonly ShownFigure[]): void {
  const status = element("p", { class: "hint", role: "status" });
  const heading = element("h2", { id: "embed-heading" }, t`Embed this figure`);
  const names = figures.map(({ title }, index) => (index === 0 ? t`The whole room` : title));
  const choice = element(
    "select",
    {},
    ...names.map((name, index) => element("option", { value: String(index) }, name)),
  );
  const script = copyable(t`A script and an element; its height follows its content`, status);
  const frame = copyable(t`A frame; it needs no script, and its height is fixed`, status);
  const show = () => {
    const figure = figures[choice.selectedIndex]!;
    script.area.value = elementMarkup(figure);
    frame.area.value = frameMarkup(figure);
    status.textContent = "";
  };
  choice.onchange = show;
  show();
  const dialog = element(
    "dialog",
    { class: "embed", "aria-labelledby": "embed-heading" },
    heading,
    element("p", { class: "hint" }, t`Both forms have the settings that the room has now.`, ...hereOnly()),
    element("label", {}, t`What to show `, choice),
    script.node,
    frame.node,
    status,
    button(t`Close`, () => dialog.close()),
  );
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}

/** What must be known where the lab runs on the visitor's own machine. */
function hereOnly(): readonly string[] {
  const isHere = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname);
  return isHere
    ? [t` This lab (${location.host}) runs on your machine: only you see its figures, and only while it runs. “npm run build:demo” makes a lab for a web server.`] // prettier-ignore
    : [];
}

interface Copyable {
  readonly node: HTMLElement;
  readonly area: HTMLTextAreaElement;
}

/** A text with a button that copies it. */
function copyable(label: string, status: HTMLElement): Copyable {
  const area = element("textarea", { readonly: "", rows: "5", spellcheck: "false", translate: "no" });
  const copy = button(t`Copy`, () => {
    area.select();
    navigator.clipboard.writeText(area.value).then(
      () => (status.textContent = t`Copied.`),
      () =>
        (status.textContent = t`This browser does not let the page copy. The text is selected: copy it with the keyboard.`),
    );
  });
  copy.ariaLabel = t`Copy: ${label}`;
  return { node: element("div", { class: "copyable" }, element("label", {}, label, area), copy), area };
}
