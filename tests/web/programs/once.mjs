// One call on two threads.
import { createAttention } from "headwise";

const hw = await createAttention({ threads: 2 });
const x = { data: new Float32Array(64 * 8).fill(1), shape: [64, 8] };
const { output } = await hw.scaledDotProductAttention(x, x, x);
console.log(JSON.stringify({ first: output.data[0], threads: hw.report.threads }));
