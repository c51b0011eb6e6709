// The element <headwise-figure>: a room of the lab, or one card of it, as a figure of any page. This file becomes
// embed.js, which stands beside the lab's index.html. It can be imported in Node, where it defines nothing.

import { figureAddress, labAddress, type Figure } from "./figureAddress.js";
import { heightIn } from "./heightMessage.js";

export type { HeightMessage } from "./heightMessage.js";

const NAME = "headwise-figure";
const CSS = `
:host { display: block; position: relative; min-height: 8rem; }
:host([hidden]) { display: none; }
iframe { display: block; box-sizing: border-box; width: 100%; border: 0; }
iframe:not(.drawn) { position: absolute; inset: 0; height: 100%; visibility: hidden; }
iframe.drawn ~ slot { display: none; }
`;

const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/**
 * Shows a room of the lab in a frame. The content of the element is shown until the figure is drawn; and for good, if it
 * cannot be loaded.
 */
export class HeadwiseFigure extends Base {
  static readonly observedAttributes = ["lab", "room", "card", "settings", "theme", "label"];

  #frame: HTMLIFrameElement | undefined;
  /** The window that hears the frame: another one after the element has moved to another document. */
  #view: (Window & typeof globalThis) | undefined;

  connectedCallback(): void {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    this.#view = this.ownerDocument.defaultView ?? window;
    const sheet = new this.#view.CSSStyleSheet();
    sheet.replaceSync(CSS);
    root.adoptedStyleSheets = [sheet];
    this.#view.addEventListener("message", this.#hear);
    this.#open();
  }

  disconnectedCallback(): void {
    this.#view!.removeEventListener("message", this.#hear);
    this.#frame = undefined;
    this.shadowRoot!.replaceChildren(); // the frame ends, and its worker with it
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    const isShown = this.shadowRoot?.firstChild;
    if (!isShown || before === after) return;
    if (!this.#frame) this.#open(); // `lab` was no address
    else if (name === "label") this.#frame.title = this.#title;
    else if (name === "settings") this.#set(this.#frame);
    else this.#open();
  }

  get #figure(): Figure {
    return {
      lab: labAddress(this.getAttribute("lab") ?? "./", this.hasAttribute("lab") ? this.baseURI : import.meta.url),
      room: this.getAttribute("room") ?? "",
      settings: this.getAttribute("settings") ?? "",
      theme: this.getAttribute("theme") ?? "auto",
      card: this.getAttribute("card") ?? "",
    };
  }

  get #title(): string {
    return this.getAttribute("label") ?? `${this.#figure.room || "First figure"}, from the headwise lab`;
  }

  /** Makes the frame. A new frame, unlike a new address in an old one, adds no step to the history of the page. */
  #open(): void {
    const content = document.createElement("slot");
    this.#frame = undefined;
    this.shadowRoot!.replaceChildren(content);
    const frame = document.createElement("iframe");
    frame.title = this.#title;
    frame.loading = "lazy";
    // An isolated page may otherwise show no frames of other sites.
    if (crossOriginIsolated) frame.setAttribute("credentialless", "");
    frame.src = figureAddress(this.#figure);
    this.#frame = frame;
    content.before(frame);
  }

  /**
   * Changes the settings of a figure. One that is drawn does not load again: only the end of its address changes. Without
   * settings it does, because the lab keeps the latest ones of a room.
   */
  #set(frame: HTMLIFrameElement): void {
    if (frame.className && this.#figure.settings) frame.contentWindow!.location.replace(figureAddress(this.#figure));
    else this.#open();
  }

  readonly #hear = ({ source, data }: MessageEvent<unknown>) => {
    const height = heightIn(data);
    if (!this.#frame || source !== this.#frame.contentWindow || height === undefined) return;
    this.#frame.className = "drawn";
    this.#frame.style.height = `${height}px`;
  };
}

declare global {
  interface HTMLElementTagNameMap {
    "headwise-figure": HeadwiseFigure;
  }
}

if (globalThis.customElements && !customElements.get(NAME)) customElements.define(NAME, HeadwiseFigure);
