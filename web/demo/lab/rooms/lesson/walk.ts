import { isFigure } from "../../embed/figurePage.js";

const NARROW = "(max-width: 60rem)";
/** Where people read, as a part of the window's height. */
const [LINE, NARROW_LINE] = [0.6, 0.86];
/** Above a text that was scrolled to, in pixels. */
const GAP = 14;
/** Keys that scroll a page. */
const SCROLLING: ReadonlySet<string> = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);

/**
 * The way through the scenes: by scrolling, and by the arrow keys. A figure in another page does not scroll: it is as high
 * as its content.
 */
export class Walk {
  readonly #stage: HTMLElement;
  readonly #onScene: (scene: number) => void;
  /** The scene that is shown, or will be. */
  #scene = 1;
  /** The scene that the page scrolls to by itself. */
  #target: number | undefined;
  #frame = 0;
  /** What the keyboard has reached in a text, until it leaves the texts or the visitor scrolls. */
  #reached: Element | undefined;
  readonly #sizes = new ResizeObserver(() => this.#uncover());
  readonly #print = matchMedia("print");
  readonly #away = new AbortController();

  constructor(stage: HTMLElement, onScene: (scene: number) => void, onStep: (by: number) => void) {
    this.#stage = stage;
    this.#onScene = onScene;
    const { signal } = this.#away;
    if (!isFigure) addEventListener("scroll", () => this.#look(), { passive: true, signal });
    this.#print.addEventListener("change", () => this.#leavePaper(), { signal });
    for (const event of ["wheel", "touchmove"]) addEventListener(event, () => (this.#target = this.#reached = undefined), { passive: true, signal }); // oxfmt-ignore
    document.addEventListener("focusin", ({ target }) => this.#reach(target as Element), { signal });
    document.addEventListener("keydown", (event) => this.#key(event, onStep), { signal });
  }

  /** The stage has its diagram. */
  begin(): void {
    this.#sizes.disconnect();
    this.#sizes.observe(this.#diagram().diagram, { box: "border-box" });
  }

  /**
   * The Tab key goes to the controls of this scene, past those of the others: in them it would scroll the page to another scene.
   * A figure in another page shows one scene only.
   */
  tabTo(scene: number): void {
    if (isFigure) return;
    for (const control of this.#stage.querySelectorAll<HTMLElement>(".scene :is(a, button)"))
      control.tabIndex = Number(control.closest<HTMLElement>(".scene")!.dataset["scene"]) === scene ? 0 : -1;
  }

  /** From now on the page is on its way to a scene, and those that it passes are not meant. */
  expect(scene: number): void {
    this.#scene = this.#target = scene;
    this.#reached = undefined;
  }

  /** Brings a scene's text into view. */
  goTo(scene: number, isAtOnce = false): void {
    if (isFigure) return;
    this.expect(scene);
    const isStill = isAtOnce || matchMedia("(prefers-reduced-motion: reduce)").matches;
    scrollTo({ top: scene === 1 ? 0 : this.#heightOf(scene), behavior: isStill ? "instant" : "smooth" });
  }

  /** How far the page is scrolled when the text of a scene stands below the bar, and on a phone below the diagram. */
  #heightOf(scene: number): number {
    const card = this.#stage.querySelector(`.scene[data-scene="${scene}"]`)!;
    const { diagram, isAbove } = this.#diagram();
    const hidden = parseFloat(getComputedStyle(diagram).top) + (isAbove ? diagram.clientHeight + GAP : GAP);
    return scrollY + card.getBoundingClientRect().top - hidden;
  }

  /** The diagram, and whether it stays above the texts, as on a phone. */
  #diagram(): { diagram: Element; isAbove: boolean } {
    const diagram = this.#stage.querySelector(".scene-diagram")!;
    const isAbove = matchMedia(NARROW).matches && getComputedStyle(diagram).position === "sticky";
    return { diagram, isAbove };
  }

  /** What the keyboard has reached in a text comes out from under the diagram, after the browser has scrolled to it. */
  #reach(target: Element): void {
    this.#reached = target.matches(".scene :focus-visible") ? target : undefined;
    if (this.#reached) requestAnimationFrame(() => this.#uncover());
  }

  /** A diagram that grows neither hides what the keyboard has reached nor pushes it out of the window. */
  #uncover(): void {
    if (!this.#reached?.isConnected) return; // there may be no diagram yet
    const { diagram, isAbove } = this.#diagram();
    if (!isAbove) return;
    const { top, bottom } = this.#reached.getBoundingClientRect();
    const covered = diagram.getBoundingClientRect().bottom + GAP - top;
    const below = bottom + GAP - innerHeight;
    const by = covered > 0 ? -covered : Math.min(Math.max(below, 0), -covered);
    if (by !== 0) scrollBy({ top: by, behavior: "instant" });
  }

  end(): void {
    this.#away.abort();
    this.#sizes.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  /** Paper is laid out without scrolling: nobody reads another scene because of that. */
  #look(): void {
    if (this.#print.matches) return;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#uncover();
      const scene = this.#seen();
      if (this.#target === scene) this.#target = undefined;
      else if (this.#target === undefined) this.#onScene((this.#scene = scene));
    });
  }

  /** On paper the page is shorter. Where it ended up there is left again for the scene that is shown. */
  #leavePaper(): void {
    if (!this.#print.matches && this.#seen() !== this.#scene) this.goTo(this.#scene, true);
  }

  /** The last scene whose text has come above the line at which people read. */
  #seen(): number {
    if (!this.#isShown()) return this.#scene;
    const line = innerHeight * (matchMedia(NARROW).matches ? NARROW_LINE : LINE);
    const cards = [...this.#stage.querySelectorAll<HTMLElement>(".scene")];
    const at = cards.findLastIndex((card) => card.getBoundingClientRect().top < line);
    return Math.max(at, 0) + 1;
  }

  /** Behind a handout the room is hidden. */
  #isShown(): boolean {
    return this.#stage.checkVisibility();
  }

  #key(event: KeyboardEvent, onStep: (by: number) => void): void {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const isTaken = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.defaultPrevented;
    const isTyping = (event.target as Element).closest("input, textarea, select, dialog, [role=region]") !== null;
    if (SCROLLING.has(event.key)) this.#reached = undefined;
    if (by === 0 || isTaken || isTyping || !this.#isShown()) return;
    event.preventDefault();
    onStep(by);
  }
}
