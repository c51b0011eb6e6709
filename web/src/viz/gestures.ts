import type { Place } from "./view.js";

export interface GestureEvents {
  /** Whether the map can be dragged. If not, one finger scrolls the page. */
  readonly canPan: () => boolean;
  readonly onPan: (by: Place) => void;
  readonly onZoom: (factor: number, at: Place, isSmooth: boolean) => void;
}

/** How many pixels a pointer must move to start a drag. */
const DRAG = 4;

/**
 * Wheel, drag, pinch and double click on an element. They are reported as moves and zooms, in shares of the element's
 * size.
 */
export class Gestures {
  readonly #pointers = new Map<number, Place>();
  #start: Place | undefined;
  #isDragging = false;

  constructor(
    readonly target: HTMLElement,
    readonly events: GestureEvents,
  ) {
    target.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    target.addEventListener("dblclick", (event) =>
      this.events.onZoom(event.shiftKey ? 1 / 2 : 2, this.#place(event), true),
    );
    target.addEventListener("pointerdown", (event) => this.#down(event));
    target.addEventListener("pointermove", (event) => this.#move(event));
    for (const type of ["pointerup", "pointercancel"] as const) {
      target.addEventListener(type, (event) => this.#up(event));
    }
    for (const type of ["touchstart", "touchmove"] as const) {
      // one finger may scroll the page; with two the browser would cancel the pointers
      target.addEventListener(type, (event) => event.touches.length > 1 && event.preventDefault(), { passive: false });
    }
    // a drag ends with a click, which must do nothing
    target.addEventListener("click", (event) => this.#isDragging && event.stopImmediatePropagation(), true);
  }

  get isDragging(): boolean {
    return this.#isDragging;
  }

  /** A pinch on a touchpad arrives as Ctrl + wheel. The wheel alone scrolls the page unless the map has the focus. */
  #wheel(event: WheelEvent): void {
    const hasFocus = (this.target.getRootNode() as ShadowRoot).activeElement === this.target;
    if (!event.ctrlKey && !event.metaKey && !hasFocus) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 0.002 : 0.05;
    this.events.onZoom(2 ** (-event.deltaY * lines * (event.ctrlKey ? 5 : 1)), this.#place(event), false);
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.#pointers.set(event.pointerId, this.#place(event));
    this.#start = { x: event.clientX, y: event.clientY };
    this.#isDragging = this.#pointers.size > 1;
  }

  #move(event: PointerEvent): void {
    const before = this.#pointers.get(event.pointerId);
    if (before && event.buttons === 0) this.#up(event); // it was released outside of the element
    if (!before || event.buttons === 0 || !this.#drags(event)) return;
    const others = [...this.#pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const now = this.#place(event);
    this.#pointers.set(event.pointerId, now);
    const [other] = others;
    // if there are two fingers, the middle between them moves half as far as each
    const share = other ? 1 / 2 : 1;
    this.events.onPan({ x: (now.x - before.x) * share, y: (now.y - before.y) * share });
    if (!other) return;
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
    const factor = this.#distance(now, other) / Math.max(this.#distance(before, other), 1);
    this.events.onZoom(factor, middle, false);
  }

  /** Captures a pointer that has moved far enough, so that it may leave the element. Returns whether it drags. */
  #drags(event: PointerEvent): boolean {
    if (!this.#isDragging) {
      const { x, y } = this.#start!;
      if (!this.events.canPan() || Math.hypot(event.clientX - x, event.clientY - y) < DRAG) return false;
      this.#isDragging = true;
    }
    this.target.setPointerCapture(event.pointerId);
    return true;
  }

  #up(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    // after the click that ends the drag
    if (this.#pointers.size === 0) setTimeout(() => (this.#isDragging = false), 0);
  }

  #place(event: MouseEvent): Place {
    const { left, top, width, height } = this.target.getBoundingClientRect();
    return { x: (event.clientX - left) / width, y: (event.clientY - top) / height };
  }

  #distance(a: Place, b: Place): number {
    const { clientWidth, clientHeight } = this.target;
    return Math.hypot((a.x - b.x) * clientWidth, (a.y - b.y) * clientHeight);
  }
}
