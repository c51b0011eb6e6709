// node givenUp.mjs ENTRY LOADER: instances that are aborted while they load, at many moments, and one whose loader
// fails after its threads have started. Prints how many workers are left, and how the calls ended.
const [entry, glueUrl] = process.argv.slice(2);
const { createAttention } = await import(entry);

const workers = () => process.report.getReport().workers.length;
const options = { backend: "wasm", variant: "simd", threads: 3 };

async function endingOf(created) {
  try {
    (await created).dispose();
    return "it loaded";
  } catch (error) {
    return error.code ?? error.message;
  }
}

const endings = new Set();
for (let milliseconds = 0; milliseconds < 150; milliseconds += 10) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("given up")), milliseconds);
  endings.add(await endingOf(createAttention({ ...options, signal: controller.signal })));
}
const failed = glueUrl && (await endingOf(createAttention({ ...options, wasm: { glueUrl } })));
for (let patience = 0; workers() > 0 && patience < 200; ++patience)
  await new Promise((resolve) => setTimeout(resolve, 50));
console.log(JSON.stringify({ endings: [...endings], failed, workers: workers() }));
