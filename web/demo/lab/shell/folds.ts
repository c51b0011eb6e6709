/** The event of an element that is to be seen, and is hidden otherwise than in a fold. It bubbles to what hides it. */
export const WANTED = "headwise-wanted";

/** Opens what an element is folded in, and the element itself if it is a fold. */
export function unfold(node: Element): void {
  const closed = () => node.closest<HTMLDetailsElement>("details:not([open])");
  for (let fold = closed(); fold; fold = closed()) fold.open = true;
  if (!node.checkVisibility()) node.dispatchEvent(new Event(WANTED, { bubbles: true }));
}

/** Opens folds of a room when a setting changes whose control is in them, and in no part that is open. */
export class Folds {
  readonly #stage: HTMLElement;
  /** The settings whose controls were there. */
  #seen = new URLSearchParams();

  constructor(stage: HTMLElement) {
    this.#stage = stage;
  }

  /** Called with the settings of the address, when they change and when the room has drawn. */
  follow(query: URLSearchParams): void {
    const seen = new URLSearchParams();
    for (const [name, value] of query) {
      const controls = [...this.#stage.querySelectorAll(`[data-field~="${name}"]`)];
      if (controls.length === 0) continue; // its part is not there yet
      seen.set(name, value);
      const isChanged = this.#seen.get(name) !== value;
      if (isChanged && controls.every((control) => control.closest("details:not([open])"))) unfold(controls[0]!);
    }
    this.#seen = seen;
  }
}
