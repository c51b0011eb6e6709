import attend from "./kernels/attend.wgsl";
import call from "./kernels/call.wgsl";
import finishRow from "./kernels/finish_row.wgsl";
import headNorm from "./kernels/head_norm.wgsl";
import inspect from "./kernels/inspect.wgsl";
import merge from "./kernels/merge.wgsl";
import mergeParts from "./kernels/merge_parts.wgsl";
import narrow from "./kernels/narrow.wgsl";
import pack from "./kernels/pack.wgsl";
import part from "./kernels/part.wgsl";
import project from "./kernels/project.wgsl";
import rotary from "./kernels/rotary.wgsl";
import scoreTile from "./kernels/score_tile.wgsl";
import storedF16 from "./kernels/stored_f16.wgsl";
import storedF32 from "./kernels/stored_f32.wgsl";
import topK from "./kernels/top_k.wgsl";

export type KernelName =
  "attend" | "merge_parts" | "inspect" | "top_k" | "pack" | "narrow" | "merge" | "rotary" | "project" | "head_norm";

/** A shader before it is text: which kernel, and the constants that fold its options away. */
export interface Kernel {
  readonly name: KernelName;
  readonly constants: Readonly<Record<string, number | boolean>>;
  /** How query, key and value lie in memory, for kernels that read them. */
  readonly stored?: "float32" | "float16";
}

/** How a kernel uses each of its bindings; absent inputs are bound to a few spare bytes, so numbers never move. */
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
  attend: { parts: [call, scoreTile, finishRow, part, attend], bindings: CALL },
  merge_parts: {
    parts: [call, finishRow, mergeParts],
    bindings: { 0: "uniform", 3: "read", 6: "read", 7: "write", 8: "write", 9: "read", 10: "read" },
  },
  inspect: { parts: [call, scoreTile, inspect], bindings: CALL },
  top_k: { parts: [call, topK], bindings: { 0: "uniform", 7: "write", 8: "write", 9: "read" } },
  pack: { parts: [pack], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  narrow: { parts: [narrow], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  merge: {
    parts: [merge],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write", 5: "write" },
  },
  project: {
    parts: [project],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write" },
  },
  head_norm: { parts: [headNorm], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  rotary: { parts: [rotary], bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" } },
};

export function bindingsOf(name: KernelName): Readonly<Record<number, Access>> {
  return SOURCES[name].bindings;
}

/** One line of constants for each option, then the hand-written text. */
export function shaderSource({ name, constants, stored }: Kernel): string {
  const lines = Object.entries(constants).map(([constant, value]) =>
    typeof value === "boolean" ? `const ${constant} = ${value};` : `const ${constant} = ${value}u;`,
  );
  const storage = stored ? [`alias stored = ${stored === "float16" ? "vec2<u32>" : "vec4<u32>"};`] : [];
  const loads = stored ? [stored === "float16" ? storedF16 : storedF32] : [];
  return [...storage, ...lines, "", ...SOURCES[name].parts, ...loads].join("\n");
}

/** The same text for the same kernel: the key under which its pipeline is kept. */
export function kernelKey({ name, constants, stored }: Kernel): string {
  return JSON.stringify([name, stored ?? null, Object.entries(constants)]);
}
