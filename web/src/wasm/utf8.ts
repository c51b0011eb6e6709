/** Text from bytes of UTF-8. jsdom, where people test pages, has no TextDecoder. */
export function textOf(bytes: Uint8Array): string {
  return decodeURIComponent(Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""));
}
