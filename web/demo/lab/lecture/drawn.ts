import { unfold } from "../shell/folds.js";

/** Nothing has changed for so long: it is drawn. */
const QUIET_MS = 400;
const LONGEST_MS = 60_000;

/** The figure of a room, when it is drawn and does not change any more; undefined if it does not come. */
export async function drawnFigure(room: string, figure: string): Promise<HTMLElement | undefined> {
  const find = () => {
    const node = document.querySelector<HTMLElement>(`[data-room=${room}][aria-busy=false] ${figure}`);
    if (node) unfold(node);
    return node?.checkVisibility() ? node : undefined;
  };
  const main = document.getElementById("main")!;
  const end = performance.now() + LONGEST_MS;
  for (let last = performance.now(); performance.now() < end;) {
    if (find() && performance.now() - last > QUIET_MS) return find();
    if (await changes(main, QUIET_MS)) last = performance.now();
  }
  return find();
}

/** Whether a part of the page changes within this time. */
function changes(node: HTMLElement, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isChanged: boolean) => {
      seen.disconnect();
      clearTimeout(timer);
      resolve(isChanged);
    };
    const seen = new MutationObserver(() => end(true));
    const timer = setTimeout(() => end(false), milliseconds + 50);
    seen.observe(node, { subtree: true, childList: true, attributes: true, characterData: true });
  });
}
