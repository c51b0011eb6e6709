/**
 * Calls a function whenever a CSS pixel has become another number of the screen's pixels: by the browser's zoom, or when the
 * window has moved to another screen.
 */
export function watchPixelRatio(onChange: () => void, signal: AbortSignal): void {
  const changed = () => {
    watchPixelRatio(onChange, signal); // the query is about the ratio of now
    onChange();
  };
  matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", changed, { once: true, signal });
}
