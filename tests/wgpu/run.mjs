// Runs one bundled test file in Deno. The last line is its counts as JSON.

import process from "node:process";

const [, , file, milliseconds] = process.argv;
const { runAll } = await import(file);
const adapter = await navigator.gpu?.requestAdapter();
if (!adapter) {
  console.log(JSON.stringify({ notRun: "there is no WebGPU adapter" }));
  process.exit(0);
}
const counts = await runAll((line) => console.error(line), Number(milliseconds));
console.log(JSON.stringify(counts));
process.exit(0);
