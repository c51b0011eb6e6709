// node wrong.mjs ENTRY: a program that passes a wrong shape and catches nothing.

const { createAttention } = await import(process.argv[2]);

const hw = await createAttention();
await hw.scaledDotProductAttention({ data: new Float32Array(6), shape: [3, 3] });
