/** Large type and nothing but the figure and the lecture, on the whole screen where the browser allows that. */
export class BigScreen {
  readonly #root = document.documentElement;

  constructor(onChange: () => void) {
    document.addEventListener("fullscreenchange", () => {
      if (!document.fullscreenElement) this.#root.removeAttribute("data-big");
      onChange();
    });
  }

  get isOn(): boolean {
    return this.#root.hasAttribute("data-big");
  }

  async set(isOn: boolean): Promise<void> {
    this.#root.toggleAttribute("data-big", isOn);
    try {
      if (isOn) await this.#root.requestFullscreen();
      else if (document.fullscreenElement) await document.exitFullscreen();
    } catch {
      // Some browsers, and frames in other pages, have no full screen. The type is large all the same.
    }
  }
}
