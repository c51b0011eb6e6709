const NARROW = "(max-width: 60rem)";
/** Where people read, as a part of the window's height. */
const [LINE, NARROW_LINE] = [0.6, 0.86];
/** Above a text that was scrolled to, in pixels. */
const GAP = 14;

/** The way through the scenes: by scrolling, and by the arrow keys. */
export class Walk {
  readonly #stage: HTMLElement;
  readonly #onScene: (scene: number) => void;
  /** The scene that the page scrolls to by itself. */
  #target: number | undefined;
  #frame = 0;
  readonly #away = new AbortController();

  constructor(stage: HTMLElement, onScene: (scene: number) => void, onStep: (by: number) => void) {
    this.#stage = stage;
    this.#onScene = onScene;
    const { signal } = this.#away;
    addEventListener("scroll", () => this.#look(), { passive: true, signal });
    for (const event of ["wheel", "touchmove"]) addEventListener(event, () => (this.#target = undefined), { passive: true, signal }); // oxfmt-ignore
    document.addEventListener("keydown", (event) => this.#key(event, onStep), { signal });
  }

  /** From now on the page is on its way to a scene, and those that it passes are not meant. */
  expect(scene: number): void {
    this.#target = scene;
  }

  /** Brings a scene's text into view. */
  goTo(scene: number, isAtOnce = false): void {
    this.#target = scene;
    const isStill = isAtOnce || matchMedia("(prefers-reduced-motion: reduce)").matches;
    scrollTo({ top: scene === 1 ? 0 : this.#heightOf(scene), behavior: isStill ? "instant" : "smooth" });
  }

  /** How far the page is scrolled when the text of a scene stands below the bar, and on a phone below the diagram. */
  #heightOf(scene: number): number {
    const card = this.#stage.querySelector(`.scene[data-scene="${scene}"]`)!;
    const diagram = this.#stage.querySelector(".scene-diagram")!;
    const { top, position } = getComputedStyle(diagram);
    const isAbove = matchMedia(NARROW).matches && position === "sticky";
    const hidden = parseFloat(top) + (isAbove ? diagram.clientHeight + GAP : GAP);
    return scrollY + card.getBoundingClientRect().top - hidden;
  }

  end(): void {
    this.#away.abort();
    cancelAnimationFrame(this.#frame);
  }

  #look(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const scene = this.#seen();
      if (this.#target === scene) this.#target = undefined;
      else if (this.#target === undefined) this.#onScene(scene);
    });
  }

  /** The last scene whose text has come above the line at which people read. */
  #seen(): number {
    const line = innerHeight * (matchMedia(NARROW).matches ? NARROW_LINE : LINE);
    const cards = [...this.#stage.querySelectorAll<HTMLElement>(".scene")];
    const at = cards.findLastIndex((card) => card.getBoundingClientRect().top < line);
    return Math.max(at, 0) + 1;
  }

  #key(event: KeyboardEvent, onStep: (by: number) => void): void {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const isTaken = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.defaultPrevented;
    const isTyping = (event.target as Element).closest("input, textarea, select, dialog, [role=region]") !== null;
    if (by === 0 || isTaken || isTyping) return;
    event.preventDefault();
    onStep(by);
  }
}
