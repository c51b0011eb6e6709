import { isObject } from "../base/describe.js";
import { AssetError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { version } from "../engine/version.js";

/** How the caller can say where the engine's files are. */
const GIVE_FILES = "give their folder as `wasm: { baseUrl }`, or their addresses as `wasm: { url, lateUrl, glueUrl }`";

/** The files that are not in headwise/wasm/. `wasm` of the options names none of them. */
const SCRIPT = /\/(?:webgpu-engine|auto-engine|worker-entry)\b[^/]*$/;

/** A folder in which Vite keeps what it has bundled for development. Nuxt, Storybook and VitePress name it otherwise. */
const VITE_CACHE = /\/[^/]*vite[^/]*\/(?:.*\/)?deps\//;

/** What to do about a file that was not found at its address. */
export function assetHint(url: string): string {
  if (VITE_CACHE.test(url))
    return 'Vite moved the package away from its files. Add optimizeDeps: { exclude: ["headwise"] } to its configuration.';
  const isScript = SCRIPT.test(url);
  const copy = isScript
    ? "copy it there from node_modules/headwise/dist"
    : `copy the files of headwise/wasm/ and ${GIVE_FILES}`;
  if (url.startsWith("file:"))
    return `Check that this file is there and can be read. If it is missing, install headwise again; if a bundler left it behind, ${copy}.`;
  if (isScript) return `Serve this file there. If a bundler left it behind, ${copy}.`;
  return `Serve the files of headwise/wasm/ there, or ${GIVE_FILES}.`;
}

/** The error for a file without an address, because the module that loads it has no address itself. */
export function addressError(operation: string, what: string): AssetError {
  const reason = "this bundle has no file address (import.meta.url is undefined, or not that of a file)";
  return new AssetError(`${operation}: ${what} cannot be found: ${reason}`, {
    hint: `Copy the files of headwise/wasm/ and ${GIVE_FILES}; or import headwise/inline, which needs no files.`,
  });
}

/** The error for a file of another version of the package. */
export function versionError(what: string, found: string, operation: string): AssetError {
  return new AssetError(`${operation}: ${what} is of version ${found}, this is ${version}`, {
    code: "ASSET_VERSION",
    hint: "Serve all files of the imported version; an old copy may be cached.",
  });
}

/** The error for two parts of a module that are not of one build. */
export function latePartError(operation: string, name: string, reason: string, cause?: unknown): AssetError {
  return new AssetError(`${operation}: ${name} does not belong to the module that was loaded: ${reason}`, {
    code: "ASSET_VERSION",
    cause,
    hint:
      "Serve both files of one build of headwise: headwise.<variant>.wasm and headwise.<variant>.late.wasm. If you give the " +
      "module yourself, give its late part as wasm.lateUrl, wasm.lateBinary or wasm.lateModule.",
  });
}

/** The hint for a worker that did not start. */
export function workerHint(cause: unknown, otherwise: string): string {
  const text = thrownText(cause);
  if (/trusted|sink type/i.test(text))
    return (
      "The page's policy has require-trusted-types-for 'script', which forbids workers whose address is a plain string. " +
      'Allow them by a Trusted Types policy named "default" whose createScriptURL returns headwise\'s addresses; ' +
      "or compute without workers: `threads: 1`, or headwise in a worker that you start yourself."
    );
  return permissionHint(cause) ?? otherwise;
}

/** What to do about an error of Node's permission model; undefined for any other error. */
export function permissionHint(cause: unknown): string | undefined {
  if (!isObject(cause)) return undefined;
  const { code, permission } = cause as { readonly code?: unknown; readonly permission?: unknown };
  if (code !== "ERR_ACCESS_DENIED") return undefined;
  return permission === "WorkerThreads"
    ? `Node's permission model forbids workers: ${ALLOW_WORKER}, or use headwise or headwise/inline with one thread.`
    : "Node's permission model forbids reading the file: start Node with --allow-fs-read for the package's folder.";
}

/** How to allow workers in Node's permission model. */
export const ALLOW_WORKER = "start Node with --allow-worker";
