import { Late } from "./late.js";
import type * as operationsFile from "./operationsFile.js";
import { shared } from "./shared.js";
import { loadPart } from "./wasm/files.js";
import type { WasmSource } from "./wasm/host.js";

/** The operations beside scaledDotProductAttention, and the wasm engine's part of them. */
export type AllOperations = typeof operationsFile;

/** The file as the build makes it: a function of what it shares with the entry. */
interface OperationsFile {
  readonly version: string;
  default(taken: typeof shared): AllOperations;
}

/** A loader's name as published. */
const published = /\bheadwise\.(simd|relaxed)(\.node)?\.js(?=$|[?#])/;

/** By address, so that the caches of all instances are of one class. */
const files = new Map<string, Late<AllOperations>>();

/** The operations in their file: beside a loader of the caller's that kept its name, else beside this one. */
export function operationsInFile({ glueUrl }: WasmSource): Late<AllOperations> {
  const isOurs = glueUrl && published.test(glueUrl); // else none is given, a blob, or one that a bundler renamed
  const url = isOurs
    ? glueUrl.replace(published, "headwise.operations.js")
    : new URL("./wasm/headwise.operations.js", import.meta.url).href;
  let file = files.get(url);
  if (!file) {
    file = new Late(async (operation) => (await loadPart<OperationsFile>(operation, url)).default(shared));
    files.set(url, file);
  }
  return file;
}
