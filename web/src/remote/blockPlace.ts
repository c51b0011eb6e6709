import { describe, isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { FolderCache } from "./folderCache.js";
import type { KeptBlocks } from "./keptBlocks.js";
import { PageCache } from "./pageCache.js";

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
