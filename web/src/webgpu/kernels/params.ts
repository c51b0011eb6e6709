/** The numbers in the uniform buffer of every attention kernel: `Params` of the kernels, in this order. */
const FIELDS = {
  num_heads: "u32",
  num_kv_heads: "u32",
  group_size: "u32",
  query_length: "u32",
  key_length: "u32",
  /** head dim in vec4 */
  depth4: "u32",
  /** value dim in vec4 */
  value4: "u32",
  value_dim: "u32",
  // strides of query in vec4, of key and value in loads of PER vec4, of output in elements
  query_batch: "u32",
  query_head: "u32",
  query_position: "u32",
  key_batch: "u32",
  key_head: "u32",
  key_position: "u32",
  value_batch: "u32",
  value_head: "u32",
  value_position: "u32",
  // first word of the scales of int8 rows, and of the means of keys
  key_scales: "u32",
  value_scales: "u32",
  key_means: "u32",
  output_batch: "u32",
  output_head: "u32",
  output_position: "u32",
  output_feature: "u32",
  // strides of mask and bias in elements; 0 along a broadcast axis
  mask_batch: "u32",
  mask_head: "u32",
  mask_query: "u32",
  mask_key: "u32",
  bias_batch: "u32",
  bias_head: "u32",
  bias_query: "u32",
  bias_key: "u32",
  // their product is the scale: queries carry what is at most 1, scores the rest
  query_scale: "f32",
  score_scale: "f32",
  softcap: "f32",
  /** first tokens, which a cache's ring never drops */
  ring_kept: "i32",
  /** places of the ring for all other tokens */
  ring_window: "i32",
  /** beside the kept tokens a query sees this many tokens up to its own; 0: all */
  ring_sight: "i32",
  /** whether ALiBi counts places between a query and the kept tokens */
  ring_places: "u32",
  /** if not 0, the queries in the scores of the ring's first tokens lie so many vec4 after the others */
  kept_queries: "u32",
  /** the keys that an inspection is about */
  key_from: "u32",
  key_to: "u32",
  exclude_self: "u32",
  /** EMPTY_… */
  empty_rows: "u32",
  /** B * Hq * Sq */
  num_rows: "u32",
  /** elements from one section of `rows` to the next */
  row_stride: "u32",
  num_sequences: "u32",
  /** of the longest sequence */
  row_tiles: "u32",
  value_blocks: "u32",
  /** loads of a value whose columns a decoding workgroup computes */
  block_columns: "u32",
  key_parts: "u32",
  keys_per_part: "u32",
  /** in tables: slopes, sinks and gains, num_heads each */
  heads_at: "u32",
  /** in tables: positions of ALiBi, [B, Sq] and [B, Skv]; 0: they are the indices */
  positions_at: "u32",
  /** in tables: chosen heads, then chosen queries */
  chosen_at: "u32",
  chosen_heads: "u32",
  chosen_queries: "u32",
  /** first row of this dispatch */
  first_row: "u32",
  row_count: "u32",
  top_k: "u32",
  stage: "u32",
  /** its lower half */
  dropout_seed: "u32",
  dropout_seed_high: "u32",
  /** a weight is dropped if its random word is below this */
  dropout_least: "u32",
  /** the other weights are multiplied by this */
  dropout_factor: "f32",
  /** what the call has or wants: MASK … */
  features: "u32",
  /** of this dispatch */
  first_workgroup: "u32",
  /** their end */
  workgroups: "u32",
  grid_width: "u32",
} as const;

export type ParamName = keyof typeof FIELDS;
export type Params = Readonly<Record<ParamName, number>>;
export const PARAM_NAMES = Object.keys(FIELDS) as readonly ParamName[];

/** The numbers that are settings, under the names of these. */
export const SETTING_PARAMS = { softcap: "softcap", exclude_self: "excludeSelf" } as const satisfies {
  readonly [Name in ParamName]?: string;
};

/** What changes scores; in the kernels RULES is all of it. */
const RULES = ["mask", "bias", "halfBias", "alibi", "softcap"] as const;

/** What a call can have that kernels without options lack: by its settings, and otherwise. */
export const BY_SETTINGS = [...RULES, "sinks"] as const;
const OPTIONS = [...BY_SETTINGS, "entropies", "ring"] as const;

/** `output` comes first, because `has` in call.wgsl takes the features before OUTPUT for options. */
const OTHERS = ["output", "ragged", "average"] as const;

export type SettingFeature = (typeof BY_SETTINGS)[number];
export type FeatureName = (typeof OPTIONS | typeof OTHERS)[number];

/** Bits of `features`: what a call has or wants. In the kernels they are MASK, HALF_BIAS and so on. */
export const FEATURE = Object.fromEntries([...OPTIONS, ...OTHERS].map((name, n) => [name, 2 ** n])) as Readonly<
  Record<FeatureName, number>
>;

/** Whether a call with these features needs kernels with options. */
export function hasOptions(features: number): boolean {
  return features % FEATURE.output !== 0;
}

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

/** The same for the kernels: the struct, and a constant for each feature and for the rules. */
export const PARAMS_TEXT = [
  "struct Params {",
  ...Object.entries(FIELDS).map(([name, type]) => `  ${name}: ${type},`),
  "}",
  ...Object.entries(FEATURE).map(([name, bit]) => `const ${capitals(name)} = ${bit}u;`),
  `const RULES = ${RULES.map(capitals).join(" | ")};`,
  "",
].join("\n");

/** "halfBias" → "HALF_BIAS" */
function capitals(name: string): string {
  return name.replace(/[A-Z]/g, "_$&").toUpperCase();
}
