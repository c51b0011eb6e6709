/** The numbers in the uniform buffer of every attention kernel: `Params` of call.wgsl, in its order. */
const FIELDS = {
  num_heads: "u32",
  num_kv_heads: "u32",
  group_size: "u32",
  query_length: "u32",
  key_length: "u32",
  depth4: "u32",
  value4: "u32",
  value_dim: "u32",
  query_batch: "u32",
  query_head: "u32",
  query_position: "u32",
  key_batch: "u32",
  key_head: "u32",
  key_position: "u32",
  value_batch: "u32",
  value_head: "u32",
  value_position: "u32",
  key_scales: "u32",
  value_scales: "u32",
  key_means: "u32",
  output_batch: "u32",
  output_head: "u32",
  output_position: "u32",
  output_feature: "u32",
  mask_batch: "u32",
  mask_head: "u32",
  mask_query: "u32",
  mask_key: "u32",
  bias_batch: "u32",
  bias_head: "u32",
  bias_query: "u32",
  bias_key: "u32",
  scale: "f32",
  softcap: "f32",
  ring_kept: "i32",
  ring_window: "i32",
  ring_sight: "i32",
  ring_places: "u32",
  kept_queries: "u32",
  key_from: "u32",
  key_to: "u32",
  exclude_self: "u32",
  empty_rows: "u32",
  num_rows: "u32",
  row_stride: "u32",
  num_sequences: "u32",
  row_tiles: "u32",
  value_blocks: "u32",
  block_columns: "u32",
  key_parts: "u32",
  keys_per_part: "u32",
  heads_at: "u32",
  positions_at: "u32",
  chosen_at: "u32",
  chosen_heads: "u32",
  chosen_queries: "u32",
  first_row: "u32",
  row_count: "u32",
  top_k: "u32",
  stage: "u32",
  dropout_seed: "u32",
  dropout_seed_high: "u32",
  dropout_least: "u32",
  dropout_factor: "f32",
  features: "u32",
  first_workgroup: "u32",
  workgroups: "u32",
  grid_width: "u32",
} as const;

export type ParamName = keyof typeof FIELDS;
export type Params = Readonly<Record<ParamName, number>>;
export const PARAM_NAMES = Object.keys(FIELDS) as readonly ParamName[];

/** Bits of `features`, as in call.wgsl. */
export const FEATURE = {
  mask: 1,
  bias: 2,
  halfBias: 4,
  alibi: 8,
  softcap: 16,
  sinks: 32,
  entropies: 64,
  ring: 128,
  output: 256,
  ragged: 512,
  average: 1024,
} as const;

/** All numbers 0. A kernel's own numbers replace some of them. */
export const NO_PARAMS: Params = Object.fromEntries(PARAM_NAMES.map((name) => [name, 0])) as Params;

/** The bytes of a uniform buffer, a multiple of 16. */
export function packParams(params: Params): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(Math.ceil(PARAM_NAMES.length / 4) * 16));
  PARAM_NAMES.forEach((name, n) => {
    if (FIELDS[name] === "f32") view.setFloat32(4 * n, params[name], true);
    else if (FIELDS[name] === "i32") view.setInt32(4 * n, params[name], true);
    else view.setUint32(4 * n, params[name], true);
  });
  return view.buffer;
}

/** Name and type of every field. A test compares them with the shader's struct. */
export function paramFields(): [string, string][] {
  return Object.entries(FIELDS);
}
