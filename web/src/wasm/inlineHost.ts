import factory from "inline-module:glue";
import text from "inline-module:wasm";

import { OptionError } from "../errors.js";
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
      module: await compiled(bytes(), "its module"),
      name: "headwise/inline",
      isShared: false,
    };
  },
};

/** Not compressed: jsdom and others have no DecompressionStream. */
const bytes = () => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
