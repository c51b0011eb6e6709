// node reopened.mjs FOLDER: the worker of headwise/worker is killed, and the folder with the engine's files is away when
// the next calls start another. Tells how they end, and a call when the folder is back.
import { renameSync } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";

const folder = process.argv[2];
const threads = createRequire(import.meta.url)("node:worker_threads");
const workers = [];
threads.Worker = class extends threads.Worker {
  constructor(...options) {
    super(...options);
    workers.push(this);
  }
};
syncBuiltinESMExports();

const { createAttention } = await import("headwise/worker");
const hw = await createAttention({ threads: 1, wasm: { baseUrl: folder } });
const x = { data: new Float32Array(8).fill(1), shape: [2, 4] };
const ending = () =>
  hw.scaledDotProductAttention(x, x, x).then(
    ({ output }) => output.data[0],
    ({ name, code, message }) => ({ name, code, operation: message.split(":")[0] }),
  );
await workers[0].terminate();
renameSync(folder, `${folder}-away`);
const endings = [await ending(), ...(await Promise.all([ending(), ending()]))];
renameSync(`${folder}-away`, folder);
endings.push(await ending());
hw.dispose();
console.log(JSON.stringify({ endings, started: workers.length }));
