import { make } from "./make.js";

/** Saves a file as if the visitor had clicked a link to it. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  // after the click the browser holds the content itself
  setTimeout(() => URL.revokeObjectURL(address), 0);
}
