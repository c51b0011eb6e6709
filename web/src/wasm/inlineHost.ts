import factory from "inline-module:glue";
import packed from "inline-module:wasm";

import { OptionError, UnsupportedError } from "../errors.js";
import { compiled } from "./compile.js";
import type { Host } from "./host.js";

/** Wherever JavaScript runs: nothing is fetched, imported or started. */
export const inlineHost: Host = {
  variants: ["simd"],
  threads: () => ({ most: 1, good: 1, reason: "headwise/inline has one thread" }),
  async load({ source }) {
    const [name] = Object.keys(source);
    if (name) throw new OptionError(`createAttention: wasm.${name} must be absent: headwise/inline carries its module`);
    return {
      factory,
      module: await compiled(await unpacked(), "its module"),
      name: "headwise/inline",
      isShared: false,
    };
  },
};

async function unpacked(): Promise<ArrayBuffer> {
  if (typeof DecompressionStream !== "function")
    throw new UnsupportedError("createAttention: this JavaScript engine has no DecompressionStream", {
      hint: "headwise, without /inline, needs none.",
    });
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}
