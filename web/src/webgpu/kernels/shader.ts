import type { WeightDtype } from "../../linear/weight.js";
import { formulaText } from "../formula/formulaText.js";
import type { FloatDtype, Kernel, KernelName, StoredDtype } from "./kernel.js";
import { PARAMS_TEXT } from "./params.js";
import attend from "./attend.wgsl";
import attendWhole from "./attend_whole.wgsl";
import backwardBias from "./backward_bias.wgsl";
import backwardCall from "./backward_call.wgsl";
import backwardHeads from "./backward_heads.wgsl";
import backwardKeys from "./backward_keys.wgsl";
import backwardLse from "./backward_lse.wgsl";
import backwardQueries from "./backward_queries.wgsl";
import backwardRows from "./backward_rows.wgsl";
import backwardTables from "./backward_tables.wgsl";
import backwardTargets from "./backward_targets.wgsl";
import callText from "./call.wgsl";
import cleanRows from "./clean_rows.wgsl";
import columnSums from "./column_sums.wgsl";
import decode from "./decode.wgsl";
import dropout from "./dropout.wgsl";
import element from "./element.wgsl";
import finishRow from "./finish_row.wgsl";
import formulaDifferentiated from "./formula_differentiated.wgsl";
import formulaNumbers from "./formula_numbers.wgsl";
import formulaRanges from "./formula_ranges.wgsl";
import formulaRules from "./formula_rules.wgsl";
import formulaScored from "./formula_scored.wgsl";
import formulaTiles from "./formula_tiles.wgsl";
import functions from "./functions.wgsl";
import finitePart from "./finite_part.wgsl";
import floatBits from "./float_bits.wgsl";
import gatherRows from "./gather_rows.wgsl";
import halfBits from "./half_bits.wgsl";
import headNorm from "./head_norm.wgsl";
import headShares from "./head_shares.wgsl";
import headsBack from "./heads_back.wgsl";
import highProduct from "./high_product.wgsl";
import inspect from "./inspect.wgsl";
import keyMeans from "./key_means.wgsl";
import lanes from "./lanes.wgsl";
import mapRows from "./map_rows.wgsl";
import meanRows from "./mean_rows.wgsl";
import meanWeights from "./mean_weights.wgsl";
import merge from "./merge.wgsl";
import mergeParts from "./merge_parts.wgsl";
import moveRows from "./move_rows.wgsl";
import narrow from "./narrow.wgsl";
import normPower from "./norm_power.wgsl";
import normRows from "./norm_rows.wgsl";
import pack from "./pack.wgsl";
import packWeight from "./pack_weight.wgsl";
import pairTile from "./pair_tile.wgsl";
import project from "./project.wgsl";
import projectRows from "./project_rows.wgsl";
import projectStore from "./project_store.wgsl";
import projectSum from "./project_sum.wgsl";
import projectTail from "./project_tail.wgsl";
import queryF16 from "./query_f16.wgsl";
import queryF32 from "./query_f32.wgsl";
import rotary from "./rotary.wgsl";
import rowSums from "./row_sums.wgsl";
import scoreTile from "./score_tile.wgsl";
import softmaxRows from "./softmax_rows.wgsl";
import storeGradient from "./store_gradient.wgsl";
import storeRows from "./store_rows.wgsl";
import storedF16 from "./stored_f16.wgsl";
import storedF16Halves from "./stored_f16_halves.wgsl";
import storedF32 from "./stored_f32.wgsl";
import storedI8 from "./stored_i8.wgsl";
import sumParts from "./sum_parts.wgsl";
import takeRows from "./take_rows.wgsl";
import task from "./task.wgsl";
import tileRows from "./tile_rows.wgsl";
import together from "./together.wgsl";
import togetherSubgroup from "./together_subgroup.wgsl";
import tokens from "./tokens.wgsl";
import topK from "./top_k.wgsl";
import topRows from "./top_rows.wgsl";
import turnHeads from "./turn_heads.wgsl";
import weighValues from "./weigh_values.wgsl";
import unscaled from "./unscaled.wgsl";
import weightBf16 from "./weight_bf16.wgsl";
import weightF16 from "./weight_f16.wgsl";
import weightF32 from "./weight_f32.wgsl";
import weightI8 from "./weight_i8.wgsl";
import weightGradient from "./weight_gradient.wgsl";
import { unrolled } from "./unroll.js";
import { withPart } from "./withPart.js";

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

/** The inputs of CALL, what the rows need, and gradients. Devices need not have more storage buffers. */
const BACKWARD = {
  0: "uniform",
  1: "read",
  2: "read",
  3: "read",
  4: "read",
  5: "read",
  6: "read",
  9: "read",
  10: "write",
} as const;
/** The call's numbers and arrays, for all kernels of attention. */
const call = PARAMS_TEXT + callText;

/** Kernels of numbers that may be NaN or infinite, and of these the ones that compute whole rows. */
const WORDS = [floatBits, highProduct, formulaNumbers];
const WHOLE_ROWS = [...WORDS, rowSums];

/** The norm of heads, of a kernel with the numbers `norm`, `epsilon` and `head_dim` in its `shape`. */
const HEAD_NORM = [normPower, headNorm];

const PAIRS = [floatBits, call, finishRow, task, backwardCall, pairTile];

const SOURCES: Readonly<Record<KernelName, Source>> = {
  attend_whole: { parts: [floatBits, call, finishRow, task, attendWhole], bindings: CALL },
  attend: { parts: [floatBits, call, tileRows, scoreTile, finishRow, task, attend], bindings: CALL },
  decode: { parts: [floatBits, call, tileRows, finishRow, task, decode], bindings: CALL },
  merge_parts: {
    parts: [floatBits, call, finishRow, mergeParts],
    bindings: { 0: "uniform", 3: "read", 6: "read", 7: "write", 8: "write", 9: "read", 10: "read" },
  },
  inspect: { parts: [floatBits, call, tileRows, scoreTile, inspect], bindings: CALL },
  clean_rows: { parts: [floatBits, cleanRows, element], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  backward_rows: {
    parts: [floatBits, backwardRows],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write", 5: "read" },
  },
  backward_lse: {
    parts: [...PAIRS, backwardLse],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "read", 5: "read", 6: "read", 9: "write" },
  },
  backward_queries: {
    parts: [...PAIRS, backwardTargets, backwardQueries],
    bindings: { ...BACKWARD, 9: "write", 11: "uniform" },
  },
  backward_keys: { parts: [...PAIRS, backwardTargets, backwardKeys], bindings: { ...BACKWARD, 11: "uniform" } },
  backward_bias: { parts: [...PAIRS, backwardBias], bindings: { ...BACKWARD, 11: "uniform" } },
  backward_tables: { parts: [...PAIRS, backwardTables], bindings: BACKWARD },
  backward_heads: {
    parts: [floatBits, call, backwardHeads],
    bindings: { 0: "uniform", 6: "read", 9: "read", 10: "write" },
  },
  sum_parts: { parts: [floatBits, sumParts], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  top_k: { parts: [floatBits, call, topK], bindings: { 0: "uniform", 7: "write", 8: "write", 9: "read" } },
  pack: { parts: [floatBits, pack, element], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  narrow: { parts: [floatBits, narrow], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  merge: {
    parts: [floatBits, merge],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write", 5: "write" },
  },
  project: {
    parts: [...HEAD_NORM, projectStore, project],
    bindings: {
      0: "uniform",
      1: "read",
      2: "read",
      3: "read",
      4: "read",
      5: "write",
      6: "write",
      7: "read",
      8: "read",
    },
  },
  project_rows: {
    parts: [...HEAD_NORM, projectStore, projectTail, projectRows],
    bindings: {
      0: "uniform",
      1: "read",
      2: "read",
      3: "read",
      4: "read",
      5: "write",
      6: "write",
      7: "read",
      8: "read",
    },
  },
  project_sum: {
    parts: [...HEAD_NORM, projectStore, projectTail, projectSum],
    bindings: { 0: "uniform", 3: "read", 4: "read", 5: "write", 6: "read", 7: "read", 8: "read" },
  },
  turn_heads: { parts: [...HEAD_NORM, turnHeads], bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" } },
  pack_weight: { parts: [floatBits, packWeight], bindings: { 0: "uniform", 1: "read", 2: "write", 3: "read" } },
  tokens: {
    parts: [floatBits, tokens, element],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write" },
  },
  rotary: { parts: [rotary], bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" } },
  weight_gradient: {
    parts: [floatBits, weightGradient],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" },
  },
  column_sums: { parts: [columnSums], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  store_gradient: { parts: [storeGradient], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  heads_back: {
    parts: [...HEAD_NORM, headsBack],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write", 5: "write" },
  },
  gather_rows: { parts: [gatherRows], bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" } },
  move_rows: {
    parts: [floatBits, moveRows, element],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" },
  },
  mean_rows: { parts: [floatBits, meanRows], bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" } },
  head_shares: {
    parts: [headShares],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write", 7: "read" },
  },
  mean_weights: {
    parts: [floatBits, call, meanWeights],
    bindings: { 0: "uniform", 6: "read", 7: "write", 8: "write" },
  },
  weigh_values: {
    parts: [floatBits, call, weighValues],
    bindings: { 0: "uniform", 3: "read", 6: "read", 7: "write", 8: "write", 9: "read" },
  },
  norm_rows: {
    parts: [...WHOLE_ROWS, normPower, normRows],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write" },
  },
  map_rows: {
    parts: [mapRows],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write" },
  },
  take_rows: {
    parts: [...WORDS, takeRows, element],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "read", 4: "write" },
  },
  softmax_rows: { parts: [...WHOLE_ROWS, softmaxRows], bindings: { 0: "uniform", 1: "read", 2: "write" } },
  top_rows: { parts: [...WHOLE_ROWS, topRows], bindings: { 0: "uniform", 1: "read", 2: "write", 3: "write" } },
  lanes: { parts: [lanes], bindings: { 0: "write" } },
  store_rows: {
    parts: [floatBits, storeRows, element],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" },
  },
  key_means: {
    parts: [floatBits, keyMeans, element],
    bindings: { 0: "uniform", 1: "read", 2: "read", 3: "write" },
  },
};

interface Bound {
  readonly binding: number;
  readonly access: Access;
}

/** As lists, made once: each dispatch of a call asks for one. */
const BINDINGS: ReadonlyMap<string, readonly Bound[]> = new Map(
  Object.entries(SOURCES).map(([name, { bindings }]) => [
    name,
    Object.entries(bindings).map(([binding, access]) => ({ binding: Number(binding), access })),
  ]),
);

export const bindingsOf = (name: KernelName): readonly Bound[] => BINDINGS.get(name)!;

/** The WGSL extensions that a kernel needs. */
function extensionsOf({ name, constants, halves }: Kernel): string[] {
  const usesSubgroups = name === "lanes" || (constants["TOGETHER"] ?? 1) !== 1;
  return [...(halves ? ["f16"] : []), ...(usesSubgroups ? ["subgroups"] : [])];
}

/** How four numbers are stored, and the WGSL text that reads them. */
export const STORED: Readonly<
  Record<StoredDtype, { readonly alias: string; readonly words: number; readonly text: string }>
> = {
  float32: { alias: "vec4<u32>", words: 4, text: unscaled + storedF32 },
  float16: { alias: "vec2<u32>", words: 2, text: unscaled + halfBits + storedF16 },
  int8: { alias: "u32", words: 1, text: storedI8 },
};
const WEIGHT: Readonly<Record<WeightDtype, { readonly alias: string; readonly text: string }>> = {
  float32: { alias: "vec4<f32>", text: weightF32 },
  float16: { alias: "vec2<u32>", text: weightF16 },
  bfloat16: { alias: "vec2<u32>", text: weightBf16 },
  int8: { alias: "u32", text: weightI8 },
};
const QUERY_TEXT: Readonly<Record<FloatDtype, string>> = { float32: queryF32, float16: queryF16 };

/** How kernels load keys and values: PER times four numbers at once. */
function loadedText(stored: StoredDtype, perLoad: 1 | 2 | 4): string {
  const { alias, words } = STORED[stored];
  const first = perLoad === 1 ? "x" : words === 1 ? "x[n]" : "select(x.xy, x.zw, n == 1u)";
  return [
    `const PER = ${perLoad}u;`,
    `alias stored = ${alias};`,
    `alias loaded = ${perLoad === 1 ? alias : `vec${words * perLoad}<u32>`};`,
    `fn part_of(x: loaded, n: u32) -> stored { return ${first}; }`,
  ].join("\n");
}

/** The shader: one line for each constant, then the hand-written text. */
export function shaderSource(kernel: Kernel): string {
  const { name, constants, query, stored, weight, halves, perLoad = 1, formula } = kernel;
  const lines = Object.entries(constants).map(([constant, value]) =>
    typeof value === "boolean" ? `const ${constant} = ${value};` : `const ${constant} = ${value}u;`,
  );
  const aliases = [
    ...(query ? [`alias stored_query = ${STORED[query].alias};`] : []),
    ...(weight ? [`alias weight_four = ${WEIGHT[weight].alias};`] : []),
    ...(stored ? [loadedText(stored, perLoad), `alias tile4 = vec4<${halves ? "f16" : "f32"}>;`] : []),
  ];
  const loads = [
    ...(query ? [QUERY_TEXT[query]] : []),
    ...(stored ? [halves ? unscaled + halfBits + storedF16Halves : STORED[stored].text, finitePart] : []),
    ...(weight ? [WEIGHT[weight].text] : []),
    ...("TOGETHER" in constants ? [constants["TOGETHER"] === 1 ? together : togetherSubgroup] : []),
  ];
  const enabled = extensionsOf(kernel).map((extension) => `enable ${extension};`);
  const maps = "FUNCTION" in constants;
  const ownParts = [...formulaParts(kernel), ...(kernel.dropout ? [dropout] : [])];
  const parts = [
    ...(maps ? [...WORDS, functions] : []),
    ...SOURCES[name].parts,
    ...loads,
    ...(ownParts.length > 0 ? [highProduct, ...ownParts] : []),
  ];
  const all = [...enabled, ...aliases, ...lines, "", ...parts].join("\n");
  const text = withPart(withPart(all, "formula", formula !== undefined), "dropout", kernel.dropout === true);
  return unrolled(withPart(text, "map", maps), { ...constants, PER: perLoad });
}

/** The formulas, and the functions that they use. Only a pass through tiles of keys skips some. */
function formulaParts({ name, formula }: Kernel): string[] {
  if (!formula) return [];
  const text = formulaText(formula);
  const tiles = name === "inspect" || name === "backward_bias" ? [] : [formulaRanges, formulaTiles, text.tiles];
  return [
    formulaNumbers,
    formulaRules,
    formula.derivative ? formulaDifferentiated : formulaScored,
    text.rules,
    ...tiles,
  ];
}

/** A key for the kernel's pipeline. Equal kernels have equal keys. */
export function kernelKey(kernel: Kernel): string {
  const { name, constants, query, stored, weight, halves, perLoad, formula, dropout } = kernel;
  let key = `${name} ${query} ${stored} ${weight} ${halves} ${perLoad} ${formula?.id} ${dropout}`;
  for (const constant in constants) key += ` ${constant} ${constants[constant]}`;
  return key;
}
