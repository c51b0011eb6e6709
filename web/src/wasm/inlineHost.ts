import factory from "inline-module:glue";
import packed from "inline-module:wasm";

import { OptionError, UnsupportedError } from "../errors.js";
import { compiled } from "./compile.js";
import type { Host } from "./host.js";
import { checkedVariant } from "./moduleLabel.js";

/** Wherever JavaScript runs: nothing is fetched, imported or started. */
export const inlineHost: Host = {
  variants: ["simd"],
  threads: () => ({ most: 1, good: 1, reason: "headwise/inline has one thread" }),
  async load({ operation, source }) {
    const other = Object.keys(source).find((name) => name !== "module");
    if (other)
      throw new OptionError(
        `${operation}: wasm.${other} must be absent: headwise/inline carries its module, in place of which it takes a wasm.module`,
      );
    const module = source.module ?? (await compiled(operation, await unpacked(operation), "its module"));
    const variant = checkedVariant(operation, module, source.module ? "wasm.module" : "its module", false);
    return { factory, module, variant, name: "headwise/inline", isShared: false };
  },
};

async function unpacked(operation: string): Promise<ArrayBuffer> {
  if (typeof DecompressionStream !== "function")
    throw new UnsupportedError(`${operation}: this JavaScript engine has no DecompressionStream`, {
      hint: "headwise needs none, and headwise/inline none if you give it `wasm: { module }`.",
    });
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}
