// The formulas of cases: the text that headwise gets, with its parameters, and the same as functions of JavaScript.

/** Buckets of T5 for one direction: exact for near keys, logarithmic for far ones (Raffel et al. 2020). */
function bucketOf(distance) {
  const [exact, buckets, farthest] = [16, 32, 128];
  if (distance < exact) return distance;
  const share = Math.log(distance / exact) / Math.log(farthest / exact);
  return Math.min(buckets - 1, exact + Math.floor(share * (buckets - exact)));
}

const FARTHEST = 128;
const DOCUMENT = 128;
const CAP = 5;

const slopesOf = (heads) => Float32Array.from({ length: heads }, (_, h) => 2 ** ((-8 * (h + 1)) / heads));
const biasOf = (heads) =>
  Array.from({ length: heads }, (_, h) =>
    Float32Array.from({ length: 2 * FARTHEST + 1 }, (_, n) =>
      Math.fround(Math.sin(h + 1) * bucketOf(Math.abs(n - FARTHEST)) * 0.05),
    ),
  );

/**
 * By name. `score` and `visible` are the options of headwise; `parameters` gives those of the case's shape. `value` is
 * the score of a pair after the formula, and `sees` whether the pair is visible.
 */
export const FORMULAS = {
  "4 operations": {
    score: "s - slope[h] * abs(q - k)",
    parameters: ({ heads }) => ({ slope: slopesOf(heads) }),
    value: (s, { slope }, h, i, j) => s - slope[h] * Math.abs(i - j),
  },
  softcap: {
    score: "cap * tanh(s / cap)",
    parameters: () => ({ cap: CAP }),
    value: (s, { cap }) => cap * Math.tanh(s / cap),
  },
  table: {
    score: `s + bias[h][clamp(q - k, -${FARTHEST}, ${FARTHEST}) + ${FARTHEST}]`,
    parameters: ({ heads }) => ({ bias: biasOf(heads) }),
    value: (s, { bias }, h, i, j) => s + bias[h][Math.min(Math.max(i - j, -FARTHEST), FARTHEST) + FARTHEST],
  },
  causal: { visible: "k <= q", parameters: () => ({}), sees: (i, j) => j <= i },
  documents: {
    visible: "doc[q] == doc[k]",
    parameters: ({ keys }) => ({ doc: Int32Array.from({ length: keys }, (_, n) => Math.floor(n / DOCUMENT)) }),
    sees: (i, j) => Math.floor(i / DOCUMENT) === Math.floor(j / DOCUMENT),
  },
};
