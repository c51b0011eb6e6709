// The languages of listings that run: what the program of a listing is, and what becomes of its module.

import { moduleOf, pageOf, type Listing } from "./program.js";

export interface Language {
  readonly read: (source: string) => Listing;
  /** The program in JavaScript. */
  readonly translate?: (program: string) => Promise<string>;
  /** Draws what the module exports. Gives a function that takes it away. `print` gets the errors of later drawing. */
  readonly draw?: (module: object, place: HTMLElement, print: (text: string) => void) => Promise<() => void>;
}

/** By the class that TypeDoc gives to a listing. */
export const LANGUAGES: Readonly<Record<string, Language>> = {
  js: { read: moduleOf },
  html: { read: pageOf },
  ts: { read: moduleOf, translate: withoutTypes },
  tsx: { read: moduleOf, translate: withoutTypes, draw: drawComponent },
};

async function withoutTypes(program: string): Promise<string> {
  const { transform } = await import("sucrase");
  return transform(program, { transforms: ["typescript", "jsx"], jsxRuntime: "automatic", production: true }).code;
}

/** A listing in React exports one component, which needs no properties. */
async function drawComponent(module: object, place: HTMLElement, print: (text: string) => void): Promise<() => void> {
  const [component, ...more] = Object.values(module) as (() => never)[];
  if (typeof component !== "function" || more.length > 0)
    throw new Error("The listing must export one component, and nothing else.");
  const [{ createElement }, { createRoot }] = await Promise.all([import("react"), import("react-dom/client")]);
  const root = createRoot(place, { onUncaughtError: (error) => print(String(error)) });
  root.render(createElement(component));
  return () => root.unmount();
}
