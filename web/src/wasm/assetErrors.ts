import { AssetError } from "../errors.js";
import { version } from "../version.js";

/** What to do about a file that is not where it was looked for. */
export function assetHint(url: string): string {
  return url.includes("/.vite/deps/")
    ? 'Vite moved the package away from its files. Add optimizeDeps: { exclude: ["headwise"] } to its configuration.'
    : "Serve the files of headwise/wasm/ there, or give their addresses as `wasm: { url, glueUrl }`.";
}

/** The error of a file that belongs to another version of the package. */
export function versionError(what: string, found: string, operation = "createAttention"): AssetError {
  return new AssetError(`${operation}: ${what} is of version ${found}, this is ${version}`, {
    code: "ASSET_VERSION",
    hint: "Serve all files of the imported version; an old copy may be cached.",
  });
}
