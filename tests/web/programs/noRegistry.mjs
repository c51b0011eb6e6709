// node noRegistry.mjs ENTRY: an instance on an engine without FinalizationRegistry.
if (process.argv[2] === "headwise/inline") new Response(); // Node's own code for Response needs the registry, so it runs first
delete globalThis.FinalizationRegistry;
const { createAttention } = await import(process.argv[2]);
const hw = await createAttention({ threads: 1 });
const x = { data: new Float32Array(8).fill(1), shape: [2, 4] };
const { output } = await hw.scaledDotProductAttention(x, x, x);
hw.dispose();
console.log(JSON.stringify({ value: output.data[0] }));
