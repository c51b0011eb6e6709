// node readPart.mjs ENTRY: reads a part of a cache and disposes the instance, with nothing left to do. An unhandled rejection
// would end the process. Prints what was read.
const [, , entry] = process.argv;
const { createAttention } = await import(entry);

const hw = await createAttention({ backend: "wasm", threads: 1 });
const rows = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [1, 1, 3, 2] };
const cache = await hw.kvCache({ numKvHeads: 1, headDim: 2 });
await cache.append(rows, rows);
const { key } = await cache.read(0, 2);
hw.dispose();
await new Promise((resolve) => setTimeout(resolve, 50));
console.log(JSON.stringify({ key: [...key.data] }));
