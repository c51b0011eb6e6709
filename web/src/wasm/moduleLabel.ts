import { version } from "../engine/version.js";
import { AssetError } from "../errors/errors.js";
import { isObject } from "../foreign/describe.js";
import { versionError } from "./assetErrors.js";
import { textOf } from "./utf8.js";
import type { Variant } from "./variants.js";

/** The label of a `.wasm` file of this package: a custom section that the build adds. */
interface ModuleLabel {
  readonly version: string;
  readonly variant: Variant;
  /** Whether the module has threads and shared memory. The module of headwise/inline does not. */
  readonly threads: boolean;
}

const SECTION = "headwise";

/**
 * Refuses a module that its loader cannot run, before any of its code runs.
 *
 * @param name - The name of the module in messages.
 * @param threads - Whether the loader is for modules with threads.
 * @returns The variant of the module.
 */
export function checkedVariant(operation: string, module: WebAssembly.Module, name: string, threads: boolean): Variant {
  const label = labelOf(module);
  if (!label)
    throw new AssetError(`${operation}: ${name} is WebAssembly, but not a module of headwise`, {
      code: "ASSET_INVALID",
      hint: `Give ${expected(threads)} as published: without its custom section "${SECTION}" it is not recognised.`,
    });
  if (label.version !== version) throw versionError(name, label.version, operation);
  if (label.threads !== threads)
    throw new AssetError(`${operation}: ${name} is the module of ${label.threads ? "headwise" : "headwise/inline"}`, {
      code: "ASSET_INVALID",
      hint: `This entry of the package runs ${expected(threads)}.`,
    });
  return label.variant;
}

function expected(threads: boolean): string {
  return threads
    ? "headwise/wasm/headwise.simd.wasm or headwise/wasm/headwise.relaxed.wasm"
    : "headwise/wasm/headwise.inline.wasm";
}

function labelOf(module: WebAssembly.Module): ModuleLabel | undefined {
  const [section] = WebAssembly.Module.customSections(module, SECTION);
  if (!section) return undefined;
  try {
    const label: unknown = JSON.parse(textOf(new Uint8Array(section)));
    return isObject(label) && "variant" in label ? (label as ModuleLabel) : undefined;
  } catch {
    return undefined;
  }
}
