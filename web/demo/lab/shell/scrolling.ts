import { CARDS } from "../embed/cards.js";
import { unfold } from "./folds.js";

const ACTIONS = ["pointerdown", "keydown", "wheel", "touchstart"] as const;
let stop = () => {};

/**
 * Goes to a place now, and again whenever the page grows or a room is drawn, until the visitor does something. Until then
 * the browser does not keep its place at an element either (scroll anchoring). A room draws its parts one after another, and
 * what grows above would move the page.
 */
function hold(go: () => void): void {
  stop();
  const { style } = document.documentElement;
  const growth = new ResizeObserver(go);
  const drawing = new MutationObserver(go);
  stop = () => {
    growth.disconnect();
    drawing.disconnect();
    style.overflowAnchor = "";
    for (const action of ACTIONS) removeEventListener(action, stop);
  };
  for (const action of ACTIONS) addEventListener(action, stop, { passive: true });
  style.overflowAnchor = "none";
  growth.observe(document.body);
  drawing.observe(document.body, { subtree: true, attributeFilter: ["aria-busy"] });
}

/** Scrolls to a height. While the page is not that long yet it scrolls on. */
export function scrollToHeight(height: number): void {
  scrollTo(0, height);
  hold(() => {
    if (scrollY < height - 1) scrollTo(0, height);
  });
}

/**
 * Leads to a card as soon as its room has it: opens it, brings it into view, and gives it the focus.
 *
 * @param onMissing - Called with true if the room is drawn and has no such card, and with false if it has got one since.
 */
export function leadToCard(number: number, onMissing: (isMissing: boolean) => void): void {
  let led: Element | undefined;
  let isMissing = false;
  scrollTo(0, 0);
  hold(() => {
    const card = document.querySelectorAll(CARDS)[number - 1];
    const isDrawn = document.querySelector("[data-room][aria-busy=false]") !== null;
    if (isMissing !== (isDrawn && !card)) onMissing((isMissing = !isMissing));
    if (!card) return;
    unfold(card);
    if (!card.checkVisibility()) return;
    if (card !== led) focusOn(card);
    led = card;
    bringIntoView(card);
  });
}

/** The heading of a card is what is read first. */
function focusOn(card: Element): void {
  const heading = card.querySelector<HTMLElement>("summary, h2") ?? (card as HTMLElement);
  if (heading.tabIndex < 0) heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** Scrolls to a part of the page whose beginning is not in the upper third of the window. */
export function bringIntoView(node: Element): void {
  const { top } = node.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 3) node.scrollIntoView();
}
