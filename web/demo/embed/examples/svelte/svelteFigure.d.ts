import type { HTMLAttributes } from "svelte/elements";

interface FigureAttributes extends HTMLAttributes<HTMLElement> {
  room: string;
  card?: string;
  settings?: string;
  theme?: "auto" | "light" | "dark";
  label?: string;
  lab?: string;
}

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "headwise-figure": FigureAttributes;
  }
}
