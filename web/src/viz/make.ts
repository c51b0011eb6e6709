type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Makes an element with attributes and children. An attribute that is false or undefined is left out; true makes it
 * empty.
 */
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

/** Replaces the children of an element. `replaceChildren(...children)` would overflow the stack with a long list. */
export function fill(element: Element, children: readonly Node[]): void {
  const fragment = document.createDocumentFragment();
  for (const child of children) fragment.append(child);
  element.replaceChildren(fragment);
}
