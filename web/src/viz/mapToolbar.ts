import { make } from "./make.js";

/** What the buttons of a map do. */
export interface MapTools {
  zoomBy(factor: number): void;
  resetView(): void;
  /** Saves a file. */
  save(kind: "svg" | "png" | "csv"): Promise<void>;
}

export function mapToolbar(tools: MapTools): HTMLElement {
  const button = (text: string, title: string, act: () => unknown) => {
    const element = make("button", { type: "button", title, "aria-label": title }, text);
    element.addEventListener("click", () => void act());
    return element;
  };
  return make(
    "div",
    { part: "toolbar", class: "toolbar", role: "toolbar", "aria-label": "Map" },
    button("−", "Zoom out", () => tools.zoomBy(1 / 2)),
    button("+", "Zoom in", () => tools.zoomBy(2)),
    button("Fit", "Fit all of it", () => tools.resetView()),
    make("span", { class: "spring" }),
    button("SVG", "Save the view as SVG", () => tools.save("svg")),
    button("PNG", "Save the view as PNG", () => tools.save("png")),
    button("CSV", "Save the numbers in view as CSV", () => tools.save("csv")),
  );
}
