import { element } from "./element.js";

/** Gives the visitor a file. */
export function save(name: string, bytes: Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([bytes]));
  element("a", { download: name, href: url }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
