import { make } from "./make.js";

/** A box on the screen, in CSS pixels from the corner of the viewport. */
export type Box = Pick<DOMRect, "left" | "top" | "right" | "bottom">;

/** Pixels between the tooltip and its cell. */
const GAP = 8;

/** Text beside a cell. Assistive technology has the same text in the read-out. */
export class Tooltip {
  readonly element = make("div", { part: "tooltip", class: "tooltip", "aria-hidden": "true", hidden: true });

  hide(): void {
    this.element.hidden = true;
  }

  /** Says a number in bold, and of which query and key it is. In any language the arrow points from left to right. */
  say(value: string, query: string, key: string): void {
    const ends = make("span", { dir: "ltr" }, make("bdi", {}, query), " → ", make("bdi", {}, key));
    this.element.replaceChildren(make("strong", {}, value), ends);
  }

  /** Says the page's own text. */
  sayOwn(text: string): void {
    this.element.replaceChildren(make("span", {}, text));
  }

  /**
   * Puts the tooltip beside a cell, inside `room` if it fits there, and always inside the viewport. It is hidden if the
   * cell is not in sight.
   */
  place(cell: Box | undefined, room: Box): void {
    const viewport: Box = { left: 0, top: 0, right: document.documentElement.clientWidth, bottom: innerHeight };
    this.element.hidden = !cell || !meet(cell, viewport);
    if (!cell || this.element.hidden) return;
    this.element.style.transform = "none";
    const { left, top, width, height } = this.element.getBoundingClientRect();
    const size = { width, height };
    const { left: x, top: y } =
      placeBeside(cell, size, cut(room, viewport)) ?? placeBeside(cell, size, viewport) ?? into(cell, size, viewport);
    this.element.style.transform = `translate(${x - left}px, ${y - top}px)`;
  }
}

interface Size {
  readonly width: number;
  readonly height: number;
}
type Place = Pick<Box, "left" | "top">;

/** Above, below, right or left of the cell: the first place that lies in `room`; undefined if none does. */
export function placeBeside(cell: Box, { width, height }: Size, room: Box): Place | undefined {
  const left = clamp((cell.left + cell.right - width) / 2, room.left, room.right - width);
  const top = clamp((cell.top + cell.bottom - height) / 2, room.top, room.bottom - height);
  const places: readonly Place[] = [
    { left, top: cell.top - GAP - height },
    { left, top: cell.bottom + GAP },
    { left: cell.right + GAP, top },
    { left: cell.left - GAP - width, top },
  ];
  return places.find(
    (place) =>
      place.left >= room.left &&
      place.top >= room.top &&
      place.left + width <= room.right &&
      place.top + height <= room.bottom,
  );
}

/** The place in `room` that is nearest to a place above the cell. */
function into(cell: Box, { width, height }: Size, room: Box): Place {
  return {
    left: clamp(cell.left, room.left, room.right - width),
    top: clamp(cell.top - GAP - height, room.top, room.bottom - height),
  };
}

const meet = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const cut = (a: Box, b: Box): Box => ({
  left: Math.max(a.left, b.left),
  top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right),
  bottom: Math.min(a.bottom, b.bottom),
});
const clamp = (value: number, low: number, high: number) => Math.max(Math.min(value, high), low);
