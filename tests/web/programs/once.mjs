// One call on two threads; "dispose" as an argument ends the instance. The process must end by itself either way.
import { createAttention } from "headwise";

const hw = await createAttention({ threads: 2 });
const x = { data: new Float32Array(64 * 8).fill(1), shape: [64, 8] };
const { output } = await hw.scaledDotProductAttention(x, x, x);
if (process.argv.includes("dispose")) hw.dispose();
console.log(JSON.stringify({ first: output.data[0], threads: hw.report.threads }));
