/** Decodes UTF-8. It does without TextDecoder, because jsdom has none and people test pages in jsdom. */
export function textOf(bytes: Uint8Array): string {
  return decodeURIComponent(Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""));
}
