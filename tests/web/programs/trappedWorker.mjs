// The engine of headwise/worker traps in the first call, because of its loader. The next call has a new worker.
import { createAttention } from "headwise/worker";

const glueUrl = new URL("wasm/headwise.simd.node.js", import.meta.resolve("headwise/worker")).href;
const trapping = `
  import create from ${JSON.stringify(glueUrl)};
  import { threadId } from "node:worker_threads";
  export default async (options) => {
    const module = await create(options);
    if (threadId > 1) return module;
    module.Engine.prototype.attention = () => { throw new WebAssembly.RuntimeError("unreachable"); };
    return module;
  };`;
const hw = await createAttention({
  variant: "simd",
  threads: 1,
  wasm: { glueUrl: `data:text/javascript,${encodeURIComponent(trapping)}` },
});
const x = { data: new Float32Array(8).fill(1), shape: [2, 4] };
const failed = await hw.scaledDotProductAttention(x, x, x).then(
  () => "it ended well",
  ({ name, code }) => ({ name, code }),
);
const { output } = await hw.scaledDotProductAttention(x, x, x);
hw.dispose();
console.log(JSON.stringify({ failed, value: output.data[0] }));
