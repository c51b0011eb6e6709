// A bundler may inline files: their addresses are then `data:…`, with all their bytes.

export function isInlined(url: string): boolean {
  return url.startsWith("data:");
}

/** The address of a file as messages show it: of an inlined file only the beginning. */
export function shownAddress(url: string): string {
  return isInlined(url) ? `${url.slice(0, url.indexOf(",") + 1)}…` : url;
}
