const ACTIONS = ["pointerdown", "keydown", "wheel", "touchstart"] as const;
let stop = () => {};

/**
 * Scrolls to a height. While the page is not that long yet it scrolls on, until the visitor does something. Until then
 * the browser does not keep its place at an element either (scroll anchoring): a room draws its parts one after another,
 * and what grows above would move the page.
 */
export function scrollToHeight(height: number): void {
  stop();
  const { style } = document.documentElement;
  const growth = new ResizeObserver(() => {
    if (scrollY < height - 1) scrollTo(0, height);
  });
  stop = () => {
    growth.disconnect();
    style.overflowAnchor = "";
    for (const action of ACTIONS) removeEventListener(action, stop);
  };
  for (const action of ACTIONS) addEventListener(action, stop, { passive: true });
  style.overflowAnchor = "none";
  scrollTo(0, height);
  if (height > 0) growth.observe(document.body);
}
