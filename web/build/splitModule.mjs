// Splits a linked module into two files with one memory. The primary part has what plain attention, plain layers and caches
// run. The late part has the rest, and is loaded by the first call that needs it (web/src/wasm/latePart.ts).

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { run } from "./run.mjs";

/** The objects of the late sources in cpp/CMakeLists.txt. */
const LATE_OBJECT = /\/headwise_late_\w+\.dir\//;

/**
 * Late functions of objects that plain calls need too, by their mangled names. Each pattern must match. They are:
 * - kernels of formulas, gradients and stored weights (all kernels of a variant are in one object), also products with the
 *   transpose (`Lb1E`), which gradients alone have;
 * - kernels over keys, values and weights in float16 (`t`), bfloat16 and int8 (`a`);
 * - products with stored weights and with panels of 16 bits, and what shows and overwrites rows;
 * - inspection beyond probs, and what takes tokens out of caches;
 * - the calls of late operations, into which the optimiser has moved what they call.
 */
const LATE_NAMES = [
  /7kernels.*(step[123]I|tanh_stepI|table[12]_stepI|3mapI|gradient_stepI)/,
  /7kernels.*(8multiplyI.*Lb1E|multiply_stored|multiply_bytes|18add_weight_columnsI|11add_outputsI)/,
  /7kernels.*(11dot_patches|10add_values)I.*E[ta]EE/,
  /12visit_storedI(t|a|NS_8Bfloat16E)ZNS1_(8dot_rows|12weighted_sum|15pack_transposed)I/,
  /15pack_transposedI.*10StoredRowsI(t|a|NS_8Bfloat16E)E/,
  /7kernels.*6streamI.*wasmE(t|NS_8Bfloat16E)E/,
  /17multiply_in_place|12StoredWeight|13multiply_kept|14to_fixed_pointE|10Projection(5round|8quantise)/,
  /9overwriteERK?N|17overwrite_by_mean|11copy_chosen|19for_each_chosen_row|20show_keys_and_values/,
  /10Inspection(5top_k|7entropy|6scores|14patched_output)E|12select_top_kE|10entropy_ofE|(__partial_sort_impl|__nth_element)B/,
  /_GLOBAL__N_1(10(save|load)_cache|4keepERNS_10ThreadPool)|7KvCache4keepER/,
  /6Engine4workINS_(12BackwardCall|9MergeCall|17LayerBackwardCall|10LinearCall|18LinearBackwardCall|8StepCall)E/,
  /_GLOBAL__N_18run_partI|3runERNS_10ThreadPoolERKNS_(8Step|10Linear)CallE|^erfc/,
];

/** What the module uses beyond the first version of WebAssembly. Without reference types wasm-split 120 fails. */
const FEATURES = [
  "--enable-threads",
  "--enable-simd",
  "--enable-bulk-memory",
  "--enable-mutable-globals",
  "--enable-sign-ext",
  "--enable-nontrapping-float-to-int",
  "--enable-multivalue",
  "--enable-reference-types",
];
const MORE_FEATURES = { simd: [], relaxed: ["--enable-relaxed-simd"] };

/**
 * Splits `headwise.VARIANT.wasm` in a folder, which was linked with the names of its functions and with a map.
 *
 * @param {import("../../cpp/toolchain/emscripten.mjs").Toolchain} toolchain
 * @returns {Promise<{ primary: Buffer, late: Buffer }>}
 */
export async function split(toolchain, folder, variant) {
  const file = (ending) => path.join(folder, `headwise.${variant}.${ending}`);
  const late = lateFunctions(readFileSync(file("wasm")), readFileSync(file("map"), "utf8"));
  writeFileSync(file("late.txt"), late.join("\n"));
  const features = [...FEATURES, ...MORE_FEATURES[variant]];
  const program = programsOf(toolchain);
  const parts = { primary: file("primary.wasm"), late: file("late.wasm") };
  const chosen = ["--split", `--split-funcs=@${file("late.txt")}`, "--no-placeholders"];
  await run(program("wasm-split"), [file("wasm"), ...features, ...chosen, "-o1", parts.primary, "-o2", parts.late], {
    quiet: true,
  });
  const bare = ["--strip-debug", "--strip-producers", "--strip-target-features"];
  for (const part of Object.values(parts))
    await run(program("wasm-opt"), [...features, ...bare, part, "-o", part], { quiet: true });
  return { primary: readFileSync(parts.primary), late: readFileSync(parts.late) };
}

/** The programs of the toolchain's binaryen. */
function programsOf({ root, env }) {
  const options = { env: { ...process.env, ...env }, encoding: "utf8" };
  const binaryen = execFileSync(path.join(root, "em-config"), ["BINARYEN_ROOT"], options).trim();
  return (name) => path.join(binaryen, "bin", name);
}

/**
 * The names of the late functions.
 *
 * @param {Buffer} wasm - with the names of its functions
 * @param {string} map - what the linker wrote: whose the functions are
 */
function lateFunctions(wasm, map) {
  const names = functionNames(wasm);
  const owners = ownersIn(map);
  const isLate = (name) => {
    const own = [...(owners.get(name) ?? [])];
    if (own.length > 0 && own.every((object) => LATE_OBJECT.test(object))) return true;
    return LATE_NAMES.some((pattern) => pattern.test(name));
  };
  const late = names.filter(isLate);
  for (const pattern of LATE_NAMES)
    if (!late.some((name) => pattern.test(name)))
      throw new Error(`the module has no function with the name ${pattern}`);
  // wasm-split would only warn, and the tests of the package would pass
  if (late.length < 100) throw new Error(`the module has ${late.length} late functions, expected at least 100`);
  return late;
}

/** The objects that each function comes from. Two functions without external linkage may have the same name. */
function ownersIn(map) {
  const owners = new Map();
  for (const [, object, name] of map.matchAll(/ (\S+):\(([^\s()]+)\)$/gm)) {
    if (!owners.has(name)) owners.set(name, new Set());
    owners.get(name).add(object);
  }
  return owners;
}

/** The names in the section "name" of a module. */
function functionNames(wasm) {
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = wasm[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const text = () => {
    const length = number();
    return wasm.toString("utf8", at, (at += length));
  };
  while (at < wasm.length) {
    const section = wasm[at++];
    const end = number() + at;
    if (section === 0 && text() === "name") return namesOfFunctions(end);
    at = end;
  }
  throw new Error("the linked module has no names of functions");

  function namesOfFunctions(end) {
    while (at < end) {
      const [kind, size] = [wasm[at++], number()];
      if (kind === 1) return Array.from({ length: number() }, () => (number(), text()));
      at += size;
    }
    return [];
  }
}
