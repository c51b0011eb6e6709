import { make } from "./make.js";

const ROLES = ["surface", "ink", "quiet", "line", "accent", "hatch"] as const;

export const THEMES = ["light", "dark"] as const;

/** The colours in use, as `rgb()` or hex, and the font for text on a canvas. */
export type Theme = Readonly<Record<(typeof ROLES)[number] | "fontFamily", string>>;

/**
 * Invisible elements that have the theme's colours. A page may change the colours in any way: a media query, a class, a
 * custom property. Each change ends a transition of these elements, and that event reports the change.
 */
export class ThemeProbe {
  readonly element: HTMLElement;
  readonly #probes: Readonly<Record<string, HTMLElement>>;

  constructor(onChange: () => void) {
    this.#probes = Object.fromEntries(ROLES.map((role) => [role, make("i", { class: role })]));
    this.element = make("div", { class: "probe", "aria-hidden": "true" }, ...Object.values(this.#probes));
    this.element.addEventListener("transitionend", onChange);
  }

  read(): Theme {
    const colours = ROLES.map((role) => [role, plainColour(getComputedStyle(this.#probes[role]!).color)]);
    return { ...Object.fromEntries(colours), fontFamily: getComputedStyle(this.element).fontFamily } as Theme;
  }
}

/** A CSS colour in hex. Canvas can read every CSS colour, d3 only simple ones; so canvas converts it. */
function plainColour(colour: string): string {
  if (/^(#|rgb)/.test(colour)) return colour;
  const context = make("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true })!;
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return `rgba(${context.getImageData(0, 0, 1, 1).data.join(", ")})`.replace(/, 255\)$/, ", 1)");
}

/** The colours of both elements. `light-dark()` follows `color-scheme`, which follows the system if nothing sets it. */
export const THEME_CSS = `
:host {
  color-scheme: light dark;
  --surface: var(--headwise-surface, Canvas);
  --ink: var(--headwise-ink, light-dark(#1b1d22, #ecedf0));
  --quiet: var(--headwise-quiet, light-dark(#5a606b, #a4abb8));
  --line: var(--headwise-line, light-dark(#dcdfe4, #363b45));
  --accent: var(--headwise-accent, light-dark(#1f62a8, #7fc4f0));
  --hatch: var(--headwise-hatch, light-dark(#c3c8d0, #444b58));
  box-sizing: border-box;
  display: block;
  color: var(--ink);
  background: var(--surface);
  line-height: 1.4;
  print-color-adjust: exact;
  -webkit-tap-highlight-color: transparent;
}
:host([hidden]) { display: none; }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
*, ::before, ::after { box-sizing: border-box; }
.probe { position: absolute; width: 0; height: 0; overflow: hidden; visibility: hidden; }
.probe i { transition: color 1ms; }
.surface { color: var(--surface); }
.ink { color: var(--ink); }
.quiet { color: var(--quiet); }
.line { color: var(--line); }
.accent { color: var(--accent); }
.hatch { color: var(--hatch); }
button, select {
  min-height: 2rem;
  padding: 0.15rem 0.6rem;
  border: 1px solid var(--line);
  border-radius: 0.5rem;
  background: var(--surface);
  color: inherit;
  font: inherit;
  font-size: 0.85rem;
  cursor: pointer;
}
button:disabled { color: var(--quiet); cursor: default; }
button:hover, select:hover { border-color: var(--quiet); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.toolbar { display: flex; flex-wrap: wrap; gap: 0.4rem; align-items: center; }
.toolbar[hidden] { display: none; }
.readout { min-height: 2.8em; margin: 0; font-variant-numeric: tabular-nums; text-wrap: pretty; overflow-wrap: anywhere; }
.trouble { color: light-dark(#9a2b1e, #ff9d8f); }
@media print { .how-to { display: none; } }
`;
