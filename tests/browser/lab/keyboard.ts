import { expect } from "@jest/globals";
import { type Locator, type Page } from "playwright-core";

/** More stops than any room has. */
const MOST_STOPS = 120;

/** Presses Tab, or Shift+Tab, until an element has the focus. Each stop on the way must be in sight and have its ring. */
export async function tabTo(page: Page, target: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  for (let stops = 0; stops < MOST_STOPS; stops++) {
    await page.keyboard.press(key);
    await expectSeenFocus(page);
    if (await hasFocus(target)) return;
  }
  throw new Error(`${key} does not lead to ${String(target)}`);
}

const hasFocus = (target: Locator) => target.evaluate((node) => node === document.activeElement);

/** What has the focus is in sight, nothing lies over it, and it has a ring. The page may scroll to it late. */
export async function expectSeenFocus(page: Page): Promise<void> {
  expect(await page.evaluate(unseenFocus)).toBeUndefined();
}

/** What is wrong with the focus after a second; nothing as soon as nothing is. Runs in the page. */
async function unseenFocus(): Promise<string | undefined> {
  /** Where in its box an element is looked for, as parts of its width and height. */
  const SPOTS = [
    [0.5, 0.5],
    [0.1, 0.5],
    [0.9, 0.5],
    [0.5, 0.1],
    [0.5, 0.9],
  ] as const;
  const deepest = (find: (root: DocumentOrShadowRoot) => Element | null) => {
    let node = find(document);
    for (let inner = node; inner; inner = inner.shadowRoot ? find(inner.shadowRoot) : null) node = inner;
    return node;
  };
  const hasRing = (node: Element) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(node);
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  };
  const look = () => {
    const node = deepest((root) => root.activeElement);
    if (!node || node === document.body) return "nothing has the focus";
    const whole = node.closest("label") ?? node; // a label shows what its field may not
    // A link may have two lines.
    const isInSight = [...whole.getClientRects()].some(({ x, y, width, height }) =>
      SPOTS.some(([across, down]) => {
        const seen = deepest((root) => root.elementFromPoint(x + across * width, y + down * height));
        return seen !== null && whole.contains(seen);
      }),
    );
    if (!isInSight) return `is not in sight: ${node.outerHTML.slice(0, 160)}`;
    return hasRing(node) || hasRing(whole) ? undefined : `has no ring: ${node.outerHTML.slice(0, 160)}`;
  };
  for (let frames = 0; frames < 60 && look() !== undefined; frames++) await new Promise(requestAnimationFrame);
  return look();
}
