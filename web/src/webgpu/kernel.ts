export type KernelName =
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

/** A shader before it is text: which kernel, and the constants that fold its options away. */
export interface Kernel {
  readonly name: KernelName;
  readonly constants: Readonly<Record<string, number | boolean>>;
  /** How the query, and how keys and values lie in memory, for kernels that read them. */
  readonly query?: FloatDtype;
  readonly stored?: StoredDtype;
  /** Whether float16 keys and values stay float16 in workgroup memory, which needs shader-f16. */
  readonly halves?: boolean;
}
export type FloatDtype = "float32" | "float16";

/** How keys and values lie in memory: as the caller gave them, or as a cache keeps them. */
export type StoredDtype = FloatDtype | "int8";
