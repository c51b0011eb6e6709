import { isOpened, noteOpened } from "./opened.js";
import { t } from "../../texts/t.js";
import { reachableWhenWide } from "./reachable.js";

type Content = Node | string;

/** Makes an element with attributes and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: Content[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Makes an SVG element with attributes and children. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: Content[]
): SVGElementTagNameMap[Tag] {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** The element of the page with this id. */
export function byId<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no #${id}`);
  return node as Kind;
}

/** Hides a part of the page, or shows it. If it has the focus, `heir` gets that; without one, the room. */
export function setHidden(node: HTMLElement, isHidden: boolean, heir: HTMLElement = byId("main")): void {
  if (isHidden && node.contains(document.activeElement)) heir.focus({ preventScroll: true });
  node.hidden = isHidden;
}

/** A formula, as HTML that the build made from a `.tex` file. */
export function formula(html: string): HTMLElement {
  const node = element("span", { class: "formula" });
  node.innerHTML = html;
  reachableWhenWide(node, t`Formula`);
  return node;
}

/** A part of a room with a title. */
export function card(title: string, ...children: Content[]): HTMLElement {
  return cardOf(element("h2", {}, title), ...children);
}

/** A part of a room with a heading that may change. */
export function cardOf(heading: HTMLElement, ...children: Content[]): HTMLElement {
  return element("section", { class: "card" }, heading, cardShare(heading), ...children);
}

let lastHeading = 0;

/** The small button of a card that shares it, for which the room listens. It is called as the heading is. */
export function cardShare(heading: HTMLElement): HTMLButtonElement {
  heading.id ||= `heading-${++lastHeading}`;
  const id = `share-${heading.id}`;
  const name = { "aria-label": t`Share`, "aria-labelledby": `${id} ${heading.id}` };
  return element("button", { type: "button", class: "share-card", id, ...name }, t`Share`);
}

/**
 * A card that shows only its title until it is opened. What was opened stays so for the visit. A setting that changes opens
 * the cards of its controls (`folds.ts`).
 */
export function folded(title: string, ...children: Content[]): HTMLDetailsElement {
  const heading = element("h2", {}, title);
  return fold("card", heading, cardShare(heading), ...children);
}

/** Controls that show only their title, in the same way. */
export function foldedPanel(title: string, ...children: Content[]): HTMLDetailsElement {
  return fold("panel", element("h2", {}, title), ...children);
}

function fold(kind: string, heading: HTMLElement, ...children: Content[]): HTMLDetailsElement {
  const node = element("details", { class: kind }, element("summary", {}, heading), ...children);
  const title = heading.textContent;
  node.open = isOpened(title);
  node.ontoggle = () => noteOpened(title, node.open);
  return node;
}

/** What a visitor can do, as a part of a text. Saved pictures have it not: nobody can do it there. */
export function howTo(words: string): HTMLElement {
  return element("span", { "data-how-to": "" }, words);
}

/** A container for content that may be wider than the page. It scrolls, with the keyboard too. */
export function scrollable(label: string, ...children: Content[]): HTMLElement {
  return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, ...children);
}

/** Sets the text of an element. The same text again costs no new layout. */
export function setText(node: Element, words: string): void {
  if (node.textContent !== words) node.textContent = words;
}

/** A text with its symbols as they are set: the letter after "_", as in "W_Q", is an index. */
export function withIndices(text: string): (HTMLElement | string)[] {
  return text.split(/(?<=\b\w)_(\w)/).map((part, at) => (at % 2 === 1 ? element("sub", {}, part) : part));
}
