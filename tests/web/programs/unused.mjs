// An instance that never computes. The process must end by itself.
import { createAttention } from "headwise";

const hw = await createAttention({ threads: 2 });
console.log(JSON.stringify({ threads: hw.report.threads }));
