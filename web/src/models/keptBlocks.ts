import { OptionError } from "../errors/errors.js";
import { describe, isObject } from "../foreign/describe.js";
import { FolderCache } from "./folderCache.js";
import { PageCache } from "./pageCache.js";

/** The blocks of one version of a file. */
export interface KeptFile {
  /** The bytes of block `n`, if they are kept. */
  block(n: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  keep(n: number, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** Where blocks of files stay for the next visit. */
export interface KeptBlocks {
  /** The file at an address. Blocks of its other versions are deleted. */
  file(address: string, version: string): Promise<KeptFile>;
}

/** Where blocks are kept: the name of a cache of the page, a folder for Node, or `false`: nowhere. */
export type BlockPlace = string | { readonly folder: string } | false;

/** Of a page's cache. */
const USUAL_NAME = "headwise-models";

/** The place that the option `cache` names; undefined if blocks are not kept. */
export function keptBlocks(operation: string, place: unknown = USUAL_NAME): KeptBlocks | undefined {
  if (place === false) return undefined;
  if (typeof place === "string") return PageCache.open(place);
  const folder = isObject(place) ? (place as { readonly folder?: unknown }).folder : undefined;
  if (typeof folder === "string" && folder !== "") return new FolderCache(operation, folder);
  throw new OptionError(`${operation}: cache must be a name, { folder } or false, got ${describe(place)}`);
}
