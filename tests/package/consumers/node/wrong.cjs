// The same by `require`.

const { createAttention } = require(process.argv[2]);

createAttention().then((hw) => hw.scaledDotProductAttention({ data: new Float32Array(6), shape: [3, 3] }));
