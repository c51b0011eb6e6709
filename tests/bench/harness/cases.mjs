// The cases. Shapes are heads × queries × keys × dim. Geometric means are computed over each `group`. The filter for a
// group also chooses the cases of other groups that are `comparedIn` it.

import { FORMULAS } from "./formulas.mjs";

const self = (heads, length, dim, more) => ({ heads, queries: length, keys: length, dim, ...more });

/** One query of each head, on a cache. `heads` is "query heads/key heads". */
const decode = (heads, keys, dim, cache, group) => ({
  name: `decode ${heads}×${keys}×${dim} ${cache}`,
  group,
  ...onCache(heads, 1, keys, dim, cache),
});

function onCache(heads, queries, keys, dim, cache = "float32") {
  const [queryHeads, kvHeads = queryHeads] = heads.split("/").map(Number);
  return { heads: queryHeads, kvHeads, queries, keys, dim, cache };
}

/** One row times a weight, as a step of generating text computes it. `out-in` is how GPT-2 stores its embedding. */
const linear = (inputs, outputs, dtype, layout = "in-out") => ({
  name: `linear ${inputs}→${outputs} ${dtype}`,
  group: dtype === "float32" ? "linear" : `linear ${dtype}`,
  linear: { inputs, outputs, dtype, layout },
  ...{ heads: 1, queries: 1, keys: 1, dim: outputs },
});

/** Calls that compute almost nothing, so their time is the cost of a call: on this thread, and in headwise/worker. */
const small = (name, shape) =>
  [false, true].map((inWorker) => ({
    ...shape,
    ...{ name: `small ${name}${inWorker ? ", worker" : ""}`, group: "small calls", small: true, inWorker },
  }));

/** Lengths of a batch of eight texts. */
const LENGTHS = [512, 37, 300, 128, 64, 451, 200, 90];

const LAYER = self(12, 512, 64, { layer: true });

const SHAPES = [
  { name: "BERT 12×128×64", group: "dense", ...self(12, 128, 64) },
  { name: "BERT 12×512×64", group: "dense", comparedIn: ["formulas", "gradients"], ...self(12, 512, 64) },
  { name: "ViT 12×197×64", group: "dense", ...self(12, 197, 64) },
  { name: "8×2048×64", group: "dense", ...self(8, 2048, 64) },
  { name: "8×2048×128", group: "dense", ...self(8, 2048, 128) },
  { name: "cross 8×448×1500×64", group: "dense", heads: 8, queries: 448, keys: 1500, dim: 64 },
  { name: "causal 12×1024×64", group: "causal", comparedIn: ["formulas"], ...self(12, 1024, 64, { causal: true }) },
  { name: "causal 32/8×2048×128", group: "causal", ...self(32, 2048, 128, { kvHeads: 8, causal: true }) },
  { name: "window 256 of 8×8192×64", group: "window", ...self(8, 8192, 64, { causal: true, left: 255 }) },
  ...["float32", "float16", "int8"].flatMap((cache) =>
    [2048, 8192, 32768].map((keys) =>
      decode("32/8", keys, 128, cache, cache === "float32" ? "decode" : `decode ${cache}`),
    ),
  ),
  // The same cache, read by 1, 2, 3, 6, 7 and 8 query heads for each key head; 4 is above.
  ...[8, 16, 24, 48, 56, 64].map((heads) => decode(`${heads}/8`, 8192, 128, "float32", "decode groups")),
  // 14/2×64 is a Qwen2.5, 32/32×96 a Phi-3.
  ...[
    ["32/8", 64],
    ["32/8", 96],
    ["32/8", 256],
    ["14/2", 64],
    ["32/32", 96],
  ].map(([heads, dim]) => decode(heads, 8192, dim, "float32", "decode widths")),
  ...[2, 4, 8, 16].map((queries) => ({
    name: `${queries} rows 32/8×8192×128`,
    group: "decode rows",
    ...onCache("32/8", queries, 8192, 128),
    causal: true,
  })),
  // The window of the first row begins at an odd key, in both.
  {
    name: "window 1024 of cache 16/4×512×64",
    group: "prefill on a cache",
    ...onCache("16/4", 512, 8192, 64),
    ...{ causal: true, left: 1023 },
  },
  {
    name: "ring 2048 of cache 16/4×512×64",
    group: "prefill on a cache",
    ...onCache("16/4", 512, 6001, 64),
    ring: { keepFirst: 4, window: 2044 }, // every row sees all that the ring holds
  },
  { name: "ragged batch 8, 12 heads×64", group: "ragged", ...self(12, 512, 64, { batch: 8, lengths: LENGTHS }) },
  {
    name: "padding batch 8, 12×512×64",
    group: "masks",
    ...self(12, 512, 64, { batch: 8, mask: "padding", keyLengths: LENGTHS }),
  },
  { name: "half holes 12×512×64", group: "masks", ...self(12, 512, 64, { mask: "holes" }) },
  { name: "two documents 12×1024×64", group: "masks", ...self(12, 1024, 64, { mask: "documents" }) },
  { name: "ALiBi causal 12×1024×64", group: "masks", ...self(12, 1024, 64, { causal: true, alibi: true }) },
  // A formula, and the call that it is compared with.
  { name: "softcap 12×512×64", group: "formulas", ...self(12, 512, 64, { softcap: 5 }) },
  { name: "12×2048×64", group: "formulas", ...self(12, 2048, 64) },
  ...["4 operations", "softcap", "table"].map((formula) => ({
    name: `formula ${formula} 12×512×64`,
    group: "formulas",
    ...self(12, 512, 64, { formula }),
  })),
  { name: "formula causal 12×1024×64", group: "formulas", ...self(12, 1024, 64, { formula: "causal" }) },
  { name: "formula documents 12×2048×64", group: "formulas", ...self(12, 2048, 64, { formula: "documents" }) },
  { name: "layer 768→12×64→768 at 512", group: "layer", ...LAYER },
  ...["sinusoidal", "learned", "rotary"].map((position) => ({
    name: `layer 768 at 512, ${position}`,
    group: "layer with positions",
    ...LAYER,
    position,
  })),
  { name: "layer 768→12×64, 1 token", group: "layer of one token", ...LAYER, queries: 1, keys: 1 },
  {
    name: "layer 768→12×64, 1 of 1024",
    group: "layer of one token",
    ...LAYER,
    ...onCache("12", 1, 1024, 64),
  },
  {
    name: "layer 2048→32/8×64, 1 of 4096",
    group: "layer of one token",
    ...{ layer: true, position: "rotary" },
    ...onCache("32/8", 1, 4096, 64),
  },
  // The products of GPT-2 small.
  ...["float32", "float16", "int8"].flatMap((dtype) => [
    linear(768, 2304, dtype),
    linear(768, 768, dtype),
    linear(768, 3072, dtype),
    linear(3072, 768, dtype),
    linear(768, 50257, dtype, "out-in"),
  ]),
  // The gradient alone, from a result that is there; and the forward call with it, as a training step has them.
  { name: "gradient 12×512×64", group: "gradients", ...self(12, 512, 64, { gradient: "alone" }) },
  {
    name: "gradient causal 12×512×64",
    group: "gradients",
    ...self(12, 512, 64, { gradient: "alone", causal: true }),
  },
  { name: "with gradient 12×512×64", group: "gradients", ...self(12, 512, 64, { gradient: "whole" }) },
  {
    name: "with gradient causal 12×512×64",
    group: "gradients",
    ...self(12, 512, 64, { gradient: "whole", causal: true }),
  },
  {
    name: "with gradient 32 × 4×64×16",
    group: "gradients",
    ...self(4, 64, 16, { batch: 32, gradient: "whole", causal: true }),
  },
  { name: "top 8 of 12×512×64", group: "looked at", ...self(12, 512, 64, { topK: 8 }) },
  ...small("attention 8×1×1×8", self(8, 1, 8)),
  ...small("linear 64→64", linear(64, 64, "float32")),
  ...small("step, rewind 8×1×8", { ...onCache("8", 1, 1, 8), step: true }),
  ...small("layer 64→8×8", self(8, 1, 8, { layer: true })),
  { name: "memory 1×65536×64", group: "memory", ...self(1, 65536, 64, { once: true }) },
];

/** All cases, with defaults filled in. */
export const CASES = SHAPES.map((shape) => ({
  batch: 1,
  kvHeads: shape.heads,
  lengths: undefined,
  causal: false,
  left: Infinity,
  mask: undefined,
  alibi: false,
  softcap: 0,
  formula: undefined,
  cache: undefined,
  ring: undefined,
  position: undefined,
  gradient: undefined,
  linear: undefined,
  step: false,
  small: false,
  inWorker: false,
  comparedIn: [],
  ...shape,
}));

/**
 * The keys that a query of a sequence sees, as ranges of indices from a first to a last one. A mask may hide some of
 * them. The index of a key is also its position.
 */
export function visibleRanges({ causal, left, queries, keys, lengths, ring }, batch, query) {
  const length = lengths?.[batch] ?? keys;
  const position = query + length - (lengths?.[batch] ?? queries);
  const [first, last] = causal ? [Math.max(0, position - left), position] : [0, length - 1];
  if (!ring) return [[first, last]];
  return [
    [first, ring.keepFirst - 1],
    [Math.max(first, keys - ring.window), last],
  ];
}

/**
 * The mask of a case: the extents of its array, in the order batch, heads, queries, keys, and which pairs it leaves
 * visible. undefined if there is none.
 */
export function maskOf({ mask, batch, queries, keys, keyLengths }) {
  if (mask === "padding") return { extents: [batch, 1, 1, keys], sees: (b, i, j) => j < keyLengths[b] };
  if (mask === "holes") return { extents: [1, 1, queries, keys], sees: (b, i, j) => !isHole(i * keys + j) };
  if (mask === "documents")
    return { extents: [1, 1, queries, keys], sees: (b, i, j) => 2 * i < queries === 2 * j < keys };
  return undefined;
}

/** Whether a pair is visible by mask and formula: (batch, query, key) → boolean. undefined if all pairs are. */
export function seesOf(shape) {
  const mask = maskOf(shape);
  const sees = FORMULAS[shape.formula]?.sees;
  return sees ? (b, i, j) => sees(i, j) && (mask?.sees(b, i, j) ?? true) : mask?.sees;
}

/** Half of all numbers, without a pattern. */
function isHole(number) {
  const mix = (x) => Math.imul(x ^ (x >>> 16), 0x45d9f3b);
  const mixed = mix(mix(number + 1));
  return ((mixed ^ (mixed >>> 16)) & 1) === 1;
}

/** Number of visible pairs of a query and a key for one head, over the whole batch. */
function visiblePairs(shape) {
  const sees = seesOf(shape);
  let pairs = 0;
  for (let batch = 0; batch < shape.batch; batch++)
    for (let query = 0; query < (shape.lengths?.[batch] ?? shape.queries); query++)
      for (const [first, last] of visibleRanges(shape, batch, query))
        if (!sees) pairs += last - first + 1;
        else for (let key = first; key <= last; key++) pairs += Number(sees(batch, query, key));
  return pairs;
}

/** Products of a pair of a query and a key: q · k and p · v; the gradient has five. */
const productsOf = ({ gradient }) => ({ alone: 5, whole: 7 })[gradient] ?? 2;

/** Multiplications and additions for visible pairs. Pairs that a mask or a formula hides do not count. */
export function operations(shape) {
  if (shape.linear) return 2 * shape.linear.inputs * shape.linear.outputs;
  const { heads, kvHeads, queries, dim } = shape;
  const attention = heads * visiblePairs(shape) * dim * 2 * productsOf(shape);
  return shape.layer ? attention + queries * weightsOf(heads * dim, kvHeads * dim) * 2 : attention;
}

/** Bytes that must be read or written at least once. */
export function bytesTouched(shape) {
  if (shape.linear) return linearBytes(shape.linear);
  const { batch, heads, kvHeads, queries, dim, cache, lengths, layer, position } = shape;
  const width = heads * dim;
  const tokens = (each) => (lengths ? lengths.reduce((sum, length) => sum + length, 0) : batch * each);
  const row = { float16: dim * 2, int8: dim + 4 }[cache] ?? dim * 4;
  const held = (count) => tokens(count) * kvHeads * row * 2;
  if (layer) {
    const past = cache ? held(shape.keys - queries) : 0;
    const table = position === "learned" ? queries * width : 0;
    return 4 * (2 * queries * width + weightsOf(width, kvHeads * dim) + table) + past;
  }
  const mask = maskOf(shape)?.extents.reduce((product, extent) => product * extent) ?? 0;
  const forward = tokens(queries) * width * 4 * 2 + held(seenKeys(shape)) + mask;
  return shape.gradient ? 2 * forward : forward; // each tensor has a gradient of its size
}

/** The weight with its scales, the row of x and the row of y. */
function linearBytes({ inputs, outputs, dtype }) {
  const each = { float32: 4, float16: 2, int8: 1 }[dtype];
  return each * inputs * outputs + (dtype === "int8" ? 4 * outputs : 0) + 4 * (inputs + outputs);
}

/** Numbers in the four matrices of a layer. */
const weightsOf = (width, kvWidth) => 2 * width * (width + kvWidth);

/** Number of keys of a sequence that any query sees. */
function seenKeys({ causal, left, queries, keys, ring }) {
  if (ring) return ring.keepFirst + ring.window;
  return causal ? Math.min(keys, queries + left) : keys;
}

/** Whether a case is nothing but the formula with causality and a window, on arrays or a float32 cache. */
export const isPlain = ({
  step,
  linear,
  layer,
  lengths,
  topK,
  mask,
  alibi,
  softcap,
  formula,
  ring,
  gradient,
  cache = "float32",
}) =>
  !(step || linear || layer || lengths || topK || mask || alibi || softcap || formula || ring || gradient) &&
  cache === "float32";

/** Cases of every kind that together take about a minute with one thread. */
const QUICK = [
  "BERT 12×128×64",
  "BERT 12×512×64",
  "causal 12×1024×64",
  "decode 32/8×8192×128 float32",
  "decode 32/8×8192×128 int8",
  "decode 8/8×8192×128 float32",
  "decode 56/8×8192×128 float32",
  "decode 32/8×8192×64 float32",
  "4 rows 32/8×8192×128",
  "window 1024 of cache 16/4×512×64",
  "ring 2048 of cache 16/4×512×64",
  "two documents 12×1024×64",
  "formula 4 operations 12×512×64",
  "formula documents 12×2048×64",
  "layer 768→12×64→768 at 512",
  "layer 768 at 512, rotary",
  "layer 768→12×64, 1 of 1024",
  "linear 768→2304 float32",
  "linear 768→50257 int8",
  "gradient 12×512×64",
  "small attention 8×1×1×8",
  "small attention 8×1×1×8, worker",
  "small linear 64→64",
  "small linear 64→64, worker",
  "small step, rewind 8×1×8",
  "small step, rewind 8×1×8, worker",
  "small layer 64→8×8",
  "small layer 64→8×8, worker",
];

/**
 * Whether a case is measured. A filter chooses it if it is part of the case's name, the name of its group, or of a group
 * that it is compared in. `quick` chooses the cases of --quick among them.
 */
export const isChosen = ({ name, group, comparedIn = [] }, { filter, quick = false }) =>
  ([group, ...comparedIn].includes(filter) || name.toLowerCase().includes(filter.toLowerCase())) &&
  (!quick || QUICK.includes(name));
