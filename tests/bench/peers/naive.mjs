// The textbook program. Its arrays lie in its memory, so it copies nothing.

import { isPlain } from "../harness/cases.mjs";
import { loadProgram } from "../harness/program.mjs";

const FAR = 2 ** 30;

export async function open(options) {
  const program = await loadProgram("naive", options);
  return { forms: (problem) => [{ form: "scalar loops", open: () => place(program, problem) }] };
}

function place(program, { shape, query, key, value }) {
  const { heads, kvHeads, queries, keys, dim, causal, left } = shape;
  if (!isPlain(shape)) throw new Error("computes plain attention only");
  const addresses = [query, key, value, query].map((data) => program._allocate(data.length));
  if (addresses.includes(0)) throw new Error("not enough memory");
  const view = (address, length) => new Float32Array(program.wasmMemory.buffer, address, length);
  for (const [k, data] of [query, key, value].entries()) view(addresses[k], data.length).set(data);
  const extents = [heads, kvHeads, queries, keys, dim, Number(causal), Math.min(left, FAR)];
  return {
    call: async () => program._attend(...addresses, ...extents),
    row: ({ h, i }) => view(addresses[3], query.length).slice((h * queries + i) * dim, (h * queries + i + 1) * dim),
    release: () => addresses.forEach((address) => program._release(address)),
  };
}
