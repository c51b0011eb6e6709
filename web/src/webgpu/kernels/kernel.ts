import type { WeightDtype } from "../../linear/weight.js";
import type { FormulaForm } from "../formula/formulaForm.js";

export type KernelName =
  | "attend_whole"
  | "attend"
  | "decode"
  | "merge_parts"
  | "inspect"
  | "clean_rows"
  | "backward_rows"
  | "backward_lse"
  | "backward_queries"
  | "backward_keys"
  | "backward_heads"
  | "backward_bias"
  | "backward_tables"
  | "sum_parts"
  | "top_k"
  | "pack"
  | "narrow"
  | "merge"
  | "rotary"
  | "project"
  | "project_rows"
  | "project_sum"
  | "turn_heads"
  | "pack_weight"
  | "tokens"
  | "store_rows"
  | "key_means"
  | "weight_gradient"
  | "column_sums"
  | "store_gradient"
  | "heads_back"
  | "gather_rows"
  | "move_rows"
  | "mean_rows"
  | "head_shares"
  | "mean_weights"
  | "weigh_values"
  | "norm_rows"
  | "map_rows"
  | "take_rows"
  | "softmax_rows"
  | "top_rows"
  | "lanes";

/** A kernel: its name, and the constants that select its options. shader.ts makes its text. */
export interface Kernel {
  readonly name: KernelName;
  readonly constants: Readonly<Record<string, number | boolean>>;
  /** How the query (`query`) and keys and values (`stored`) are stored in memory, for kernels that read them. */
  readonly query?: FloatDtype;
  readonly stored?: StoredDtype;
  /** How a matrix of weights is stored, for the kernels of projections. */
  readonly weight?: WeightDtype;
  /** Whether float16 keys and values stay float16 in workgroup memory. It needs shader-f16. */
  readonly halves?: boolean;
  /** How many times four numbers of a key or value are loaded at once. Default 1. */
  readonly perLoad?: 1 | 2 | 4;
  /** The formulas of an attention pass or an inspection. */
  readonly formula?: FormulaForm;
  /** Whether the kernel drops weights. */
  readonly dropout?: boolean;
}

export type FloatDtype = "float32" | "float16";

/** How keys and values are stored in memory, in the caller's dtype or in a cache's. */
export type StoredDtype = FloatDtype | "int8";

/** Bytes of an element. */
export const BYTES: Readonly<Record<StoredDtype, number>> = { float32: 4, float16: 2, int8: 1 };
