/** Copies a text. Rejects if the browser does not let the page copy: without https there is no clipboard at all. */
export async function toClipboard(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}
