export type KernelName =
  | "attend_whole"
  | "attend"
  | "decode"
  | "merge_parts"
  | "inspect"
  | "top_k"
  | "pack"
  | "narrow"
  | "merge"
  | "rotary"
  | "project"
  | "head_norm"
  | "store_rows"
  | "lanes";

/** A kernel: its name, and the constants that select its options. shader.ts makes its text. */
export interface Kernel {
  readonly name: KernelName;
  readonly constants: Readonly<Record<string, number | boolean>>;
  /** How the query (`query`) and keys and values (`stored`) are stored in memory, for kernels that read them. */
  readonly query?: FloatDtype;
  readonly stored?: StoredDtype;
  /** Whether float16 keys and values stay float16 in workgroup memory. It needs shader-f16. */
  readonly halves?: boolean;
}
export type FloatDtype = "float32" | "float16";

/** How keys and values are stored in memory: in the caller's dtype, or in a cache's. */
export type StoredDtype = FloatDtype | "int8";
