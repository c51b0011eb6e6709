type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** An element with attributes and children; an attribute that is false or undefined is left out, true is empty. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** Puts children in place of what an element holds. As arguments of `replaceChildren` a long list overflows the stack. */
export function fill(element: Element, children: readonly Node[]): void {
  const fragment = document.createDocumentFragment();
  for (const child of children) fragment.append(child);
  element.replaceChildren(fragment);
}
