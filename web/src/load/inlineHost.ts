import { inflateSync } from "fflate/browser";
import factory from "inline-module:glue";
import text from "inline-module:wasm";

import { OptionError } from "../base/errors.js";
import { compiled } from "./compile.js";
import type { Host } from "./host.js";
import { checkedLabel } from "./moduleLabel.js";

/** The compiled module, which all instances share. */
let own: WebAssembly.Module | undefined;

/** Any JavaScript environment: this host fetches nothing, imports nothing and starts no worker. */
export const inlineHost: Host = {
  variants: ["simd"],
  threads: () => ({ most: 1, good: 1, reason: "headwise/inline starts no worker: import headwise for more threads" }),
  async load({ operation, source }) {
    const other = Object.keys(source).find((name) => name !== "module");
    if (other)
      throw new OptionError(
        `${operation}: wasm.${other} must be absent: headwise/inline carries its module, in place of which it takes a wasm.module`,
      );
    const module = source.module ?? (own ??= await compiled(operation, { bytes: bytes() }, "its module"));
    const label = checkedLabel(operation, module, source.module ? "wasm.module" : "its module", false);
    return { factory, compiling: Promise.resolve({ module, ...label }), name: "headwise/inline", isShared: false };
  },
};

/** A library inflates the module, because jsdom and others have no DecompressionStream. */
function bytes(): Uint8Array<ArrayBuffer> {
  const characters = atob(text);
  const deflated = new Uint8Array(characters.length);
  for (let n = 0; n < deflated.length; ++n) deflated[n] = characters.charCodeAt(n);
  return inflateSync(deflated);
}
