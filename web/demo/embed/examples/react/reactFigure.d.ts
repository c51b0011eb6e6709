import type { HTMLAttributes } from "react";

interface FigureAttributes extends HTMLAttributes<HTMLElement> {
  room: string;
  card?: string;
  settings?: string;
  theme?: "auto" | "light" | "dark";
  label?: string;
  lab?: string;
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "headwise-figure": FigureAttributes;
    }
  }
}
