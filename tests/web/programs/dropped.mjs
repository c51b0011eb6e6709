// Makes instances of an entry and drops them. Prints how many worker threads there were. Ends when none is left.
const { createAttention } = await import(process.argv[2] ?? "headwise");

const x = { data: new Float32Array(64).fill(1), shape: [8, 8] };
const workers = () => process.report.getReport().workers.length;

async function use() {
  const instances = [];
  for (let n = 0; n < 3; ++n) instances.push(await createAttention({ backend: "wasm", threads: 2 }));
  for (const hw of instances) await hw.scaledDotProductAttention(x, x, x);
  return workers();
}

const held = await use();
while (workers() > 0) {
  globalThis.gc();
  await new Promise((resolve) => setTimeout(resolve, 50));
}
console.log(JSON.stringify({ held }));
