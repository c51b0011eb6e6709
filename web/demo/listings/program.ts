// Runs a listing as a module of the page.

import { printed } from "./printed.js";

/** Where a program finds its `console`: a module that is made from text can import nothing from here. */
const consoles: Partial<Console>[] = ((globalThis as { listingConsoles?: Partial<Console>[] }).listingConsoles = []);

/** What only Node has. */
const OF_NODE = /\bprocess\.|\bimport\.meta\b|\brequire\(|\bBuffer\b/;

/** A listing that runs: a module, and the elements that are there before it. */
export interface Listing {
  readonly program: string;
  readonly markup: string;
}

/** A listing that is a module. */
export const moduleOf = (source: string): Listing => ({ program: source, markup: "" });

/** A listing of HTML: its only script is the module. */
export function pageOf(source: string): Listing {
  const scripts = [...source.matchAll(/<script\b[^>]*>/g)];
  const [whole, program] = /<script type="module">(.*?)<\/script>/s.exec(source) ?? [];
  if (whole === undefined || scripts.length > 1) return { program: "", markup: source };
  return { program: program!, markup: source.replace(whole, "") };
}

/** Whether a program runs in a page: it imports the package, nothing but these names, and uses nothing of Node. */
export function runsHere(source: string, names: ReadonlySet<string>): boolean {
  const imported = [...source.matchAll(/\b(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, name]) => name!);
  return (
    imported.some((name) => name.startsWith("headwise")) &&
    imported.every((name) => names.has(name)) &&
    !OF_NODE.test(source)
  );
}

/** Runs a program to its end, and gives what it exports. `print` gets each line that it logs. Its error rejects. */
export async function runProgram(source: string, print: (text: string) => void): Promise<object> {
  const log = (...values: unknown[]) => print(printed(values));
  const number = consoles.push({ log, info: log, debug: log, warn: log, error: log }) - 1;
  const text = `const console = globalThis.listingConsoles[${number}]; ${source}`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return (await import(address)) as object;
  } finally {
    URL.revokeObjectURL(address);
  }
}
