/** Calls a function when the page becomes light or dark. Canvases must be painted anew. Returns what ends that. */
export function onThemeChange(paint: () => void): () => void {
  const chosen = new MutationObserver(paint);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  preferred.addEventListener("change", paint);
  return () => {
    chosen.disconnect();
    preferred.removeEventListener("change", paint);
  };
}
