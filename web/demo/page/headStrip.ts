import { headName, type Head } from "../model/heads.js";
import { viridis } from "../model/viridis.js";
import { element } from "./element.js";

/** Small multiples: every head as a picture in a button, a row to a layer. */
export function headStrip(heads: readonly Head[], selected: number, onSelect: (index: number) => void): HTMLElement {
  const buttons = heads.map((head, index) => {
    const button = element(
      "button",
      { type: "button", "aria-pressed": String(index === selected) },
      picture(head.probs),
      element("span", {}, headName(head)),
    );
    button.onclick = () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      onSelect(index);
    };
    return button;
  });
  return element("div", { class: "strip" }, ...buttons);
}

/** One pixel a cell, enlarged by CSS; colours run to the head's strongest link. */
function picture(probs: Float32Array): HTMLCanvasElement {
  const tokens = Math.sqrt(probs.length);
  const canvas = element("canvas", {
    width: String(Math.max(tokens, 1)),
    height: String(Math.max(tokens, 1)),
    "aria-hidden": "true",
  });
  if (tokens === 0) return canvas;
  const strongest = Math.max(...probs);
  const pixels = new ImageData(tokens, tokens);
  probs.forEach((prob, i) => pixels.data.set([...viridis(prob / strongest), 255], 4 * i));
  canvas.getContext("2d")?.putImageData(pixels, 0, 0);
  return canvas;
}
