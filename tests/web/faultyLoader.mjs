import { readFileSync } from "node:fs";

/** The bytes of f32x4.mul. They are replaced by `unreachable` and two `nop`s. */
const MULTIPLY = Buffer.from([0xfd, 0xe6, 0x01]);
const TRAP = [0x00, 0x01, 0x01];

/**
 * The package's own loader with one change: its threads run a module that traps instead of multiplying. The calling
 * thread runs the module that it is given.
 *
 * @param {"js" | "node.js"} ending
 */
export function faultyLoader(ending) {
  const module = trapping(Buffer.from(readFileSync("dist/wasm/headwise.simd.wasm"))).toString("base64");
  const compiled = `new WebAssembly.Module(Uint8Array.from(atob("${module}"), (byte) => byte.charCodeAt(0)))`;
  const loader = readFileSync(`dist/wasm/headwise.simd.${ending}`, "utf8");
  const parts = loader.split(/(?<=new WebAssembly\.Instance\()\w+(?=,)/); // in the part of the loader that threads run
  if (parts.length !== 2) throw new Error(`the loader instantiates ${parts.length - 1} modules in its threads`);
  return parts.join(compiled);
}

function trapping(wasm) {
  for (let at = wasm.indexOf(MULTIPLY); at >= 0; at = wasm.indexOf(MULTIPLY, at)) wasm.set(TRAP, at);
  if (!WebAssembly.validate(wasm)) throw new Error("the module with traps is none");
  return wasm;
}
