import { isPlain } from "../harness/cases.mjs";

const FOLDER = "tests/bench/node_modules/ruvector-attention-wasm";

/** Pairs of queries and keys that it computes in a few seconds. */
const MOST_PAIRS = 1e6;

/**
 * ruvector's scaled dot-product attention. A call computes one query of one head; keys and values are arrays of rows.
 */
export async function open({ locate, read }) {
  const ruvector = await import(locate(`${FOLDER}/ruvector_attention_wasm.js`));
  await ruvector.default({ module_or_path: await read(locate(`${FOLDER}/ruvector_attention_wasm_bg.wasm`)) });
  return { forms: (problem) => [{ form: "one call a row", open: () => attend(ruvector, problem) }] };
}

function attend(ruvector, { shape, query, key, value }) {
  const { heads, kvHeads, queries, keys, dim, causal } = shape;
  if (!isPlain(shape) || causal) throw new Error("computes plain attention only");
  if (heads * queries * keys > MOST_PAIRS) throw new Error("would take minutes");
  const rowsOf = (data, from, count) =>
    Array.from({ length: count }, (_, j) => Array.from(data.subarray((from + j) * dim, (from + j + 1) * dim)));
  const groups = Array.from({ length: kvHeads }, (_, g) => ({
    keys: rowsOf(key, g * keys, keys),
    values: rowsOf(value, g * keys, keys),
  }));
  const output = new Float32Array(query.length);
  const call = async () => {
    for (let row = 0; row < heads * queries; row++) {
      const group = groups[Math.floor((Math.floor(row / queries) * kvHeads) / heads)];
      const q = query.subarray(row * dim, (row + 1) * dim);
      output.set(ruvector.scaled_dot_attention(q, group.keys, group.values), row * dim);
    }
  };
  const row = ({ h, i }) => output.subarray((h * queries + i) * dim, (h * queries + i + 1) * dim);
  return { call, row, release() {} };
}
