import { make } from "./make.js";

/** Saves a file as if the visitor had followed a link to it. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  // the browser has taken hold of the content once the click is over
  setTimeout(() => URL.revokeObjectURL(address), 0);
}
