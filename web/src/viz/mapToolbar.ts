import { make } from "./make.js";
import { texts, type VizTexts } from "./texts.js";

/** What the buttons of a map do. */
export interface MapTools {
  zoomBy(factor: number): void;
  resetView(): void;
  /** Saves a file. */
  save(kind: "svg" | "png" | "csv"): Promise<void>;
}

/** The name of a fixed word. */
type Word = { [Name in keyof VizTexts]: VizTexts[Name] extends string ? Name : never }[keyof VizTexts];

/** The buttons above a map. */
export class MapToolbar {
  readonly element: HTMLElement;
  readonly #titles = new Map<HTMLButtonElement, Word>();
  readonly #fit: HTMLButtonElement;
  readonly #saving: readonly HTMLButtonElement[];

  constructor(tools: MapTools) {
    this.#fit = this.#button("", "fitAll", () => tools.resetView());
    this.#saving = [
      this.#button("SVG", "saveSVG", () => tools.save("svg")),
      this.#button("PNG", "savePNG", () => tools.save("png")),
      this.#button("CSV", "saveCSV", () => tools.save("csv")),
    ];
    this.element = make(
      "div",
      { part: "toolbar", class: "toolbar", role: "toolbar" },
      this.#button("−", "zoomOut", () => tools.zoomBy(1 / 2)),
      this.#button("+", "zoomIn", () => tools.zoomBy(2)),
      this.#fit,
      make("span", { class: "spring" }),
      ...this.#saving,
    );
  }

  /** Says its fixed words. */
  speak(): void {
    this.element.setAttribute("aria-label", texts().toolbar);
    this.#fit.textContent = texts().fit;
    for (const [button, title] of this.#titles) {
      button.title = texts()[title];
      button.setAttribute("aria-label", texts()[title]);
    }
  }

  /** While nothing is drawn, there is nothing to save. */
  allowSaving(isAllowed: boolean): void {
    for (const button of this.#saving) button.disabled = !isAllowed;
  }

  #button(text: string, title: Word, act: () => unknown): HTMLButtonElement {
    const button = make("button", { type: "button" }, text);
    button.addEventListener("click", () => void act());
    this.#titles.set(button, title);
    return button;
  }
}
