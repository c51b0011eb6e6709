const ACTIONS = ["pointerdown", "keydown", "wheel", "touchstart"] as const;
let stop = () => {};

/** Scrolls to a height. While the page is not that long yet it scrolls on, until the visitor does something. */
export function scrollToHeight(height: number): void {
  stop();
  scrollTo(0, height);
  if (scrollY >= height - 1) return;
  const growth = new ResizeObserver(() => {
    scrollTo(0, height);
    if (scrollY >= height - 1) stop();
  });
  stop = () => {
    growth.disconnect();
    for (const action of ACTIONS) removeEventListener(action, stop);
  };
  for (const action of ACTIONS) addEventListener(action, stop, { passive: true });
  growth.observe(document.body);
}
