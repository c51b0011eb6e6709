// node --frozen-intrinsics frozen.mjs ENTRY: calls that read arrays, where nothing of the language can be changed.
const { createAttention } = await import(process.argv[2]);
const hw = await createAttention({ threads: 1 });
const x = { data: new Float32Array(8).fill(1), shape: [1, 1, 2, 4] };
const mask = { data: Uint8Array.of(1, 0, 1, 1), shape: [2, 2] };
const { output, probs } = await hw.scaledDotProductAttention(x, x, x, {
  mask,
  keyLengths: [2],
  returns: { probs: true },
});
const cache = await hw.kvCache({ numKvHeads: 1, headDim: 4 });
await cache.append(x, x);
const attended = await cache.attend(x, { causal: true });
await hw.dispose();
console.log(JSON.stringify({ output: output.data[0], probs: [...probs.data], attended: attended.output.data[0] }));
