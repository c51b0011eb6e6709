/** Decodes UTF-8. It does without TextDecoder, because jsdom has none and people test pages in jsdom. */
export function textOf(bytes: Uint8Array): string {
  let units = "";
  for (const byte of bytes) units += String.fromCharCode(byte);
  return decodeURIComponent(units.replace(/[%\x80-\xff]/g, (unit) => `%${unit.charCodeAt(0).toString(16)}`));
}
