import { MAP_HINT } from "../shell/mapHint.js";
import { CONTROLS } from "./controls.js";

/** A part of the page as a picture, with a line above it and one below. */
export interface Picture {
  readonly title: string;
  readonly address: string;
  /** The part itself, as the text of an SVG file. */
  readonly markup: string;
  readonly width: number;
  readonly height: number;
  readonly colours: { readonly surface: string; readonly ink: string; readonly quiet: string };
}

const EDGE = 24;
const [TITLE, ADDRESS] = [20, 13];
const FONT = "Inter, system-ui, sans-serif";
/** No browser has larger canvases. */
const MOST_PIXELS = 2 ** 26;

/** What a picture has, but not for itself. */
const BESIDES = `${CONTROLS}, h2, [data-how-to]`;
const DRAWN = "svg, canvas, img, attention-map, attention-heads";

/** Whether a picture of a part would show more than its heading: a card of controls has none. */
export function hasPicture(node: HTMLElement): boolean {
  const parts = document.createTreeWalker(node, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (part) =>
    part instanceof Element && part.matches(BESIDES) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  for (let part = parts.nextNode(); part; part = parts.nextNode())
    if (part instanceof Element ? part.matches(DRAWN) : part.nodeValue!.trim() !== "") return true;
  return false;
}

/** Draws a part of the page. What scrolls in the page is drawn whole: the part is as wide as that needs while it is drawn. */
export async function pictureOf(node: HTMLElement, title: string, address: string): Promise<Picture> {
  const [width, left, top] = [node.style.width, scrollX, scrollY];
  const isWider = widen(node);
  try {
    if (isWider) await redrawn();
    return await drawn(node, title, address);
  } finally {
    if (isWider) {
      node.style.width = width;
      scrollTo({ left, top, behavior: "instant" });
    }
  }
}

/** So often a part is made wider: what is beside something that scrolls takes its share of the width. */
const MOST_WIDENINGS = 6;

/** Makes a part so wide that nothing in it scrolls sideways. Returns whether it was not. */
function widen(node: HTMLElement): boolean {
  for (let widenings = 0; widenings < MOST_WIDENINGS; widenings++) {
    const hidden = hiddenWidth(node);
    if (hidden === 0) return widenings > 0;
    node.style.width = `${node.getBoundingClientRect().width + hidden}px`;
  }
  return true;
}

/** How much of the widest content of what scrolls sideways is out of sight, in pixels. */
function hiddenWidth(node: HTMLElement): number {
  const hidden = [...node.querySelectorAll<HTMLElement>("*")].map((part) => {
    const by = part.clientWidth > 0 ? part.scrollWidth - part.clientWidth : 0;
    return by > 0 && ["auto", "scroll"].includes(getComputedStyle(part).overflowX) ? by : 0;
  });
  return Math.max(0, ...hidden);
}

/** Resolves when what depends on a size has been drawn anew. */
async function redrawn(): Promise<void> {
  for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
}

async function drawn(node: HTMLElement, title: string, address: string): Promise<Picture> {
  const { snapdom } = await import("@zumer/snapdom");
  const snapshot = await snapdom(node, { embedFonts: true, fast: false, plugins: [whole] });
  const markup = decodeURIComponent(snapshot.toRaw().replace(/^[^,]*,/, ""));
  const { width, height } = node.getBoundingClientRect();
  const page = getComputedStyle(document.body);
  const quiet = getComputedStyle(document.documentElement).getPropertyValue("--quiet") || page.color;
  const colours = { surface: page.backgroundColor, ink: page.color, quiet };
  return { title, address, markup, width: Math.ceil(width), height: Math.ceil(height), colours };
}

/** Bars for scrolling would hide what they are for. A picture has no controls, and no word of what to do. */
const whole = {
  name: "whole",
  afterClone({ clone }: { clone?: Element | null }) {
    for (const part of clone?.querySelectorAll<HTMLElement>(".scroll, .formula, pre") ?? [])
      part.style.overflow = "visible";
    // A list that is cut in the page is cut there too. Sizes of a clone differ by parts of a pixel, enough for bars.
    for (const part of clone?.querySelectorAll<HTMLElement>(".head-grid") ?? []) part.style.overflow = "hidden";
    for (const part of clone?.querySelectorAll("[data-how-to]") ?? []) part.remove();
    // What is around a control has the size that it had with it, so its place stays.
    for (const part of clone?.querySelectorAll<HTMLElement>(CONTROLS) ?? []) {
      part.style.visibility = "hidden";
      part.replaceChildren();
    }
    for (const part of clone?.querySelectorAll(".readout") ?? []) if (part.textContent === MAP_HINT) part.remove();
  },
};

/** The picture with its title above and its address below, as the text of an SVG file. */
export function svgOf({ title, address, markup, width, height, colours }: Picture): string {
  const [wide, high] = [width + 2 * EDGE, height + 4 * EDGE + TITLE + ADDRESS];
  // The part brings rules for all texts, which only a style is above.
  const line = (size: number, y: number, colour: string, words: string) =>
    `<text x="${EDGE}" y="${y}" style="font: ${size}px ${FONT}; fill: ${colour}">${escaped(words)}</text>`;
  const inside = markup.replace(/<svg /, `<svg x="${EDGE}" y="${2 * EDGE + TITLE}" `);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}">` +
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="${colours.surface}"/>` +
    line(TITLE, EDGE + TITLE, colours.ink, title) +
    inside +
    line(ADDRESS, high - EDGE, colours.quiet, address) +
    `</svg>`
  );
}

/** The same as pixels; `scale` are pixels for each CSS pixel, fewer if no canvas is that large. */
export async function canvasOf(picture: Picture, scale: number): Promise<HTMLCanvasElement> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgOf(picture))}`;
  await image.decode();
  const fitting = Math.min(scale, Math.sqrt(MOST_PIXELS / (image.naturalWidth * image.naturalHeight)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.floor(image.naturalWidth * fitting);
  canvas.height = Math.floor(image.naturalHeight * fitting);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

export async function pngOf(picture: Picture): Promise<Blob> {
  const canvas = await canvasOf(picture, 2);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser could not make the file")))),
  );
}

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]!);
