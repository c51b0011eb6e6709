import { isObject } from "../base/describe.js";
import { AssetError } from "../base/errors.js";
import { textOf } from "../base/utf8.js";
import { version } from "../engine/version.js";
import { latePartError, versionError } from "./assetErrors.js";
import type { CompiledModule } from "./host.js";
import type { Variant } from "./variants.js";

/** The label of a `.wasm` file of this package: a custom section that the build adds. */
interface ModuleLabel {
  readonly version: string;
  readonly variant: Variant;
  /** Whether the module has threads and shared memory. The module of headwise/inline does not. */
  readonly threads: boolean;
  /** Names the build of a module that is split. Both parts have the same one. Absent if the module is whole. */
  readonly build?: string;
  /** Set in the late part of a module. */
  readonly late?: true;
}

/** What the loader must know of a module. */
type Loaded = Pick<CompiledModule, "variant" | "build">;

const SECTION = "headwise";

/**
 * Refuses a module that its loader cannot run, before any of its code runs.
 *
 * @param name - The name of the module in messages.
 * @param threads - Whether the loader is for modules with threads.
 * @returns The variant and the build of the module.
 */
export function checkedLabel(operation: string, module: WebAssembly.Module, name: string, threads: boolean): Loaded {
  const label = labelHere(operation, module, name, expected(threads));
  if (label.late)
    throw new AssetError(`${operation}: ${name} is the late part of a module, which the module loads by itself`, {
      code: "ASSET_INVALID",
      hint: `Give ${expected(threads)} here, and the late part as wasm.lateUrl, wasm.lateBinary or wasm.lateModule.`,
    });
  if (label.threads !== threads)
    throw new AssetError(`${operation}: ${name} is the module of ${label.threads ? "headwise" : "headwise/inline"}`, {
      code: "ASSET_INVALID",
      hint: `This entry of the package runs ${expected(threads)}.`,
    });
  return { variant: label.variant, build: label.build };
}

/** Refuses a late part that is not of the same build as the module that was loaded. */
export function checkLatePart(
  operation: string,
  late: WebAssembly.Module,
  name: string,
  { variant, build }: Loaded,
): void {
  const label = labelHere(operation, late, name, `headwise/wasm/headwise.${variant}.late.wasm`);
  if (!label.late)
    throw new AssetError(`${operation}: ${name} is a module of headwise, but not the late part of one`, {
      code: "ASSET_INVALID",
      hint: `Give headwise/wasm/headwise.${variant}.late.wasm.`,
    });
  if (label.variant !== variant)
    throw latePartError(operation, name, `it is the late part of the ${label.variant} variant`);
  if (label.build !== build) throw latePartError(operation, name, "it is of another build");
}

/** Whether a module is the late part of the one that was loaded. */
export function isLatePartOf(module: WebAssembly.Module, { variant, build }: Loaded): boolean {
  const label = labelOf(module);
  return label?.late === true && label.version === version && label.variant === variant && label.build === build;
}

/** The label of a module. Throws if it has none, or is of another version. */
function labelHere(operation: string, module: WebAssembly.Module, name: string, wanted: string): ModuleLabel {
  const label = labelOf(module);
  if (!label)
    throw new AssetError(`${operation}: ${name} is WebAssembly, but not a module of headwise`, {
      code: "ASSET_INVALID",
      hint: `Give ${wanted} as published: without its custom section "${SECTION}" it is not recognised.`,
    });
  if (label.version !== version) throw versionError(name, label.version, operation);
  return label;
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
