// The cases. Shapes are heads × queries × keys × dim. Geometric means are computed over each `group`.

const self = (heads, length, dim, more) => ({ heads, queries: length, keys: length, dim, ...more });

const decode = (keys, cache) => ({
  name: `decode 32/8×${keys}×128 ${cache}`,
  group: cache === "float32" ? "decode" : `decode ${cache}`,
  ...{ heads: 32, kvHeads: 8, queries: 1, keys, dim: 128, cache },
});

const SHAPES = [
  { name: "BERT 12×128×64", group: "dense", ...self(12, 128, 64) },
  { name: "BERT 12×512×64", group: "dense", ...self(12, 512, 64) },
  { name: "ViT 12×197×64", group: "dense", ...self(12, 197, 64) },
  { name: "8×2048×64", group: "dense", ...self(8, 2048, 64) },
  { name: "8×2048×128", group: "dense", ...self(8, 2048, 128) },
  { name: "cross 8×448×1500×64", group: "dense", heads: 8, queries: 448, keys: 1500, dim: 64 },
  { name: "causal 12×1024×64", group: "causal", ...self(12, 1024, 64, { causal: true }) },
  { name: "causal 32/8×2048×128", group: "causal", ...self(32, 2048, 128, { kvHeads: 8, causal: true }) },
  { name: "window 256 of 8×8192×64", group: "window", ...self(8, 8192, 64, { causal: true, left: 255 }) },
  ...["float32", "float16", "int8"].flatMap((cache) => [2048, 8192, 32768].map((keys) => decode(keys, cache))),
  {
    name: "ragged batch 8, 12 heads×64",
    group: "ragged",
    ...self(12, 512, 64, { batch: 8, lengths: [512, 37, 300, 128, 64, 451, 200, 90] }),
  },
  { name: "layer 768→12×64→768 at 512", group: "layer", ...self(12, 512, 64, { layer: true }) },
  { name: "top 8 of 12×512×64", group: "looked at", ...self(12, 512, 64, { topK: 8 }) },
  { name: "memory 1×65536×64", group: "memory", ...self(1, 65536, 64, { once: true }) },
];

/** All cases, with defaults filled in. */
export const CASES = SHAPES.map((shape) => ({
  batch: 1,
  kvHeads: shape.heads,
  lengths: undefined,
  causal: false,
  left: Infinity,
  cache: undefined,
  ...shape,
}));

/** Index of the first and last key that a query of a sequence sees. */
export function visibleKeys({ causal, left, queries, keys, lengths }, batch, query) {
  const length = lengths?.[batch] ?? keys;
  const position = query + length - (lengths?.[batch] ?? queries);
  return causal ? [Math.max(0, position - left), position] : [0, length - 1];
}

/** Number of visible pairs of a query and a key for one head, over the whole batch. */
function visiblePairs(shape) {
  let pairs = 0;
  for (let batch = 0; batch < shape.batch; batch++)
    for (let query = 0; query < (shape.lengths?.[batch] ?? shape.queries); query++) {
      const [first, last] = visibleKeys(shape, batch, query);
      pairs += last - first + 1;
    }
  return pairs;
}

/** Multiplications and additions for visible pairs. */
export function operations(shape) {
  const { heads, queries, dim } = shape;
  const attention = heads * visiblePairs(shape) * dim * 4;
  const width = heads * dim;
  return shape.layer ? attention + queries * width * width * 4 * 2 : attention;
}

/** Bytes that must be read or written at least once. */
export function bytesTouched(shape) {
  const { batch, heads, kvHeads, queries, keys, dim, cache, lengths, layer } = shape;
  const width = heads * dim;
  if (layer) return 4 * (2 * queries * width + 4 * width * width);
  const tokens = (each) => (lengths ? lengths.reduce((sum, length) => sum + length, 0) : batch * each);
  const row = { float16: dim * 2, int8: dim + 4 }[cache] ?? dim * 4;
  return tokens(queries) * width * 4 * 2 + tokens(keys) * kvHeads * row * 2;
}

/** Whether a filter chooses a case: it is part of the case's name, or the name of its group. */
export const isChosen = ({ name, group }, filter) =>
  group === filter || name.toLowerCase().includes(filter.toLowerCase());
