type Content = Node | string;

/** A new element with attributes and children. */
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

/** A new SVG element with attributes and children. */
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

/** The page's element with this id. */
export function byId<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no #${id}`);
  return node as Kind;
}

/** A formula that the build has set; see the `.tex` files. */
export function formula(html: string): HTMLElement {
  const node = element("span", { class: "formula" });
  node.innerHTML = html;
  return node;
}

/** A titled part of a room. */
export function card(title: string, ...children: Content[]): HTMLElement {
  return element("section", { class: "card" }, element("h2", {}, title), ...children);
}

/** What may be wider than the page: it scrolls by itself, with the keyboard too. */
export function scrollable(label: string, ...children: Content[]): HTMLElement {
  return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, ...children);
}
