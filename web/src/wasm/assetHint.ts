/** What to do about a file that is not where it was looked for. */
export function assetHint(url: string): string {
  return url.includes("/.vite/deps/")
    ? 'Vite moved the package away from its files. Add optimizeDeps: { exclude: ["headwise"] } to its configuration.'
    : "Serve the files of headwise/wasm/ there, or give their addresses as `wasm: { url, glueUrl }`.";
}
