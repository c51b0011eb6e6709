const { createAttention, tensor } = require("headwise");

async function main() {
  const hw = await createAttention({ threads: 2 });
  const tokens = tensor(new Float32Array([1, 0, 0, 1, 1, 1]), [3, 2]);
  const { output } = await hw.scaledDotProductAttention(tokens, tokens, tokens, { causal: true });
  console.log(JSON.stringify({ threads: hw.report.threads, rows: [...output.data.slice(0, 4)] }));
}

main();
