const checks = new WeakMap<Element, () => void>();
let sizes: ResizeObserver | undefined;

/**
 * Makes a box that scrolls a stop of Tab, with a name, while its content is wider. Fonts that come late change the
 * content's size and not the box's, so both are watched. The content must be there, and be as wide as what it contains.
 */
export function reachableWhenWide(box: HTMLElement, label: string): void {
  const role = box.tagName === "FIGURE" ? {} : { role: "group" };
  const attributes = Object.entries({ tabindex: "0", "aria-label": label, ...role });
  const check = () => {
    const isWide = box.scrollWidth > box.clientWidth;
    for (const [name, value] of attributes)
      if (isWide) box.setAttribute(name, value);
      else box.removeAttribute(name);
  };
  for (const part of [box, ...box.children]) onResize(part, check);
}

function onResize(node: Element, check: () => void): void {
  checks.set(node, check);
  sizes ??= new ResizeObserver((entries) => {
    for (const { target } of entries) checks.get(target)?.();
  });
  sizes.observe(node);
}
