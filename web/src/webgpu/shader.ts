import type { FloatDtype, Kernel, KernelName, StoredDtype } from "./kernel.js";
import attend from "./kernels/attend.wgsl";
import attendWhole from "./kernels/attend_whole.wgsl";
import call from "./kernels/call.wgsl";
import decode from "./kernels/decode.wgsl";
import finishRow from "./kernels/finish_row.wgsl";
import finitePart from "./kernels/finite_part.wgsl";
import floatBits from "./kernels/float_bits.wgsl";
import headNorm from "./kernels/head_norm.wgsl";
import inspect from "./kernels/inspect.wgsl";
import lanes from "./kernels/lanes.wgsl";
import merge from "./kernels/merge.wgsl";
import mergeParts from "./kernels/merge_parts.wgsl";
import narrow from "./kernels/narrow.wgsl";
import pack from "./kernels/pack.wgsl";
import project from "./kernels/project.wgsl";
import queryF16 from "./kernels/query_f16.wgsl";
import queryF32 from "./kernels/query_f32.wgsl";
import rotary from "./kernels/rotary.wgsl";
import scoreTile from "./kernels/score_tile.wgsl";
import storeRows from "./kernels/store_rows.wgsl";
import storedF16 from "./kernels/stored_f16.wgsl";
import storedF16Halves from "./kernels/stored_f16_halves.wgsl";
import storedF32 from "./kernels/stored_f32.wgsl";
import storedI8 from "./kernels/stored_i8.wgsl";
import task from "./kernels/task.wgsl";
import tileRows from "./kernels/tile_rows.wgsl";
import together from "./kernels/together.wgsl";
import togetherSubgroup from "./kernels/together_subgroup.wgsl";
import topK from "./kernels/top_k.wgsl";
import { unrolled } from "./unroll.js";

/**
 * How a kernel uses each of its bindings. An absent input is bound to a few spare bytes, so the numbers never change.
 */
export type Access = "uniform" | "read" | "write";

interface Source {
  readonly parts: readonly string[];
  readonly bindings: Readonly<Record<number, Access>>;
}

const CALL = {
  0: "uniform",
  1: "read",
  2: "read",
  3: "read",
  4: "read",
  5: "read",
  6: "read",
  7: "write",
  8: "write",
} as const;

const SOURCES: Readonly<Record<KernelName, Source>> = {
  attend_whole: { parts: [floatBits, call, finishRow, task, attendWhole], bindings: CALL },
  attend: { parts: [floatBits, call, tileRows, scoreTile, finishRow, task, attend], bindings: CALL },
  decode: { parts: [floatBits, call, tileRows, finishRow, task, decode], bindings: CALL },
  merge_parts: {
    parts: [floatBits, call, finishRow, mergeParts],
    bindings: { 0: "uniform", 3: "read", 6: "read", 7: "write", 8: "write", 9: "read", 10: "read" },
  },
  inspect: { parts: [floatBits, call, tileRows, scoreTile, inspect], bindings: CALL },
  top_k: { parts: [floatBits, call, topK], bindings: { 0: "uniform", 7: "write", 8: "write", 9: "read" } },
  pack: { parts: [floatBits, pack], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  narrow: { parts: [floatBits, narrow], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  merge: {
    parts: [floatBits, merge],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write", 5: "write" },
  },
  project: {
    parts: [project],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write" },
  },
  head_norm: { parts: [headNorm], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  rotary: { parts: [rotary], bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" } },
  lanes: { parts: [lanes], bindings: { 0: "write" } },
  store_rows: {
    parts: [floatBits, storeRows],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" },
  },
};

export function bindingsOf(name: KernelName): Readonly<Record<number, Access>> {
  return SOURCES[name].bindings;
}

/** The WGSL extensions that a kernel needs. */
function extensionsOf({ name, constants, halves }: Kernel): string[] {
  const usesSubgroups = name === "lanes" || (constants["TOGETHER"] ?? 1) !== 1;
  return [...(halves ? ["f16"] : []), ...(usesSubgroups ? ["subgroups"] : [])];
}

/** How four numbers are stored, and the WGSL text that reads them. */
const STORED: Readonly<Record<StoredDtype, { readonly alias: string; readonly text: string }>> = {
  float32: { alias: "vec4<u32>", text: storedF32 },
  float16: { alias: "vec2<u32>", text: storedF16 },
  int8: { alias: "u32", text: storedI8 },
};
const QUERY_TEXT: Readonly<Record<FloatDtype, string>> = { float32: queryF32, float16: queryF16 };

/** The shader: one line for each constant, then the hand-written text. */
export function shaderSource(kernel: Kernel): string {
  const { name, constants, query, stored, halves } = kernel;
  const lines = Object.entries(constants).map(([constant, value]) =>
    typeof value === "boolean" ? `const ${constant} = ${value};` : `const ${constant} = ${value}u;`,
  );
  const aliases = [
    ...(query ? [`alias stored_query = ${STORED[query].alias};`] : []),
    ...(stored ? [`alias stored = ${STORED[stored].alias};`, `alias tile4 = vec4<${halves ? "f16" : "f32"}>;`] : []),
  ];
  const loads = [
    ...(query ? [QUERY_TEXT[query]] : []),
    ...(stored ? [halves ? storedF16Halves : STORED[stored].text, finitePart] : []),
    ...("TOGETHER" in constants ? [constants["TOGETHER"] === 1 ? together : togetherSubgroup] : []),
  ];
  const enabled = extensionsOf(kernel).map((extension) => `enable ${extension};`);
  return unrolled([...enabled, ...aliases, ...lines, "", ...SOURCES[name].parts, ...loads].join("\n"), constants);
}

/** A key for the kernel's pipeline. Equal kernels have equal keys. */
export function kernelKey({ name, constants, query, stored, halves }: Kernel): string {
  return JSON.stringify([name, query ?? null, stored ?? null, halves ?? null, Object.entries(constants)]);
}
