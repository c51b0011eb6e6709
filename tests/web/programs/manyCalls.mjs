// Prints the sizes of the engine's memory and of the JavaScript heap before 12,000 calls, and after each third of them.
// Needs --expose-gc.

const memories = [];
WebAssembly.Memory = class extends WebAssembly.Memory {
  constructor(descriptor) {
    super(descriptor);
    memories.push(this);
  }
};
const { createAttention } = await import("headwise");
const hw = await createAttention({ threads: 2 });

function call(n) {
  const [queryLength, keyLength, dim] = [1 + (n % 37), 1 + (n % 211), 1 + (n % 50)];
  const ones = (length) => ({ data: new Float32Array(2 * length * dim).fill(1), shape: [1, 2, length, dim] });
  const returns = { lse: true, probs: n % 3 === 0, ...(n % 5 === 0 && { topK: 3 }) };
  const options = { causal: n % 2 === 0, returns };
  return hw.scaledDotProductAttention(ones(queryLength), ones(keyLength), ones(keyLength), options);
}

function sizes() {
  globalThis.gc();
  const engine = memories.reduce((bytes, { buffer }) => bytes + buffer.byteLength, 0);
  return { engine, heap: process.memoryUsage().heapUsed };
}

for (let n = 0; n < 600; ++n) await call(n); // calls until everything that grows with the largest shape has grown
const seen = [sizes()];
for (let third = 0; third < 3; ++third) {
  for (let n = 0; n < 4000; ++n) await call(n);
  seen.push(sizes());
}
console.log(JSON.stringify({ memories: memories.length, seen }));
