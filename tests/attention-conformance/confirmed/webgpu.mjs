// Runs a model of ONNX Runtime Web on WebGPU, in headless Chromium, and nothing else in the page.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

import { chromium } from "playwright-core";

const dist = new URL("../node_modules/onnxruntime-web/dist/", import.meta.url);
const TYPES = { html: "text/html", mjs: "text/javascript", wasm: "application/wasm" };

/**
 * @param {[Uint8Array, Record<string, { data: number[], shape: number[] }>][]} runs - each a model and its inputs
 * @param {{ subgroups?: boolean }} [adapter] - subgroups: false asks for a device without the features of subgroups
 * @returns {Promise<{ outputs: number[][], lanes: number[] }>} the tensor "output" of each run; the adapter's subgroup sizes
 */
export async function runOnWebGPU(runs, { subgroups = true } = {}) {
  const server = createServer(async ({ url }, response) => {
    const body = url === "/" ? "<!doctype html>" : await readFile(new URL(`.${url}`, dist)).catch(() => undefined);
    const type = url === "/" ? TYPES.html : TYPES[url.split(".").at(-1)];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": type ?? "text/plain" }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const executablePath = process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--enable-unsafe-webgpu"] });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    return await page.evaluate(inPage, [runs.map(([model, inputs]) => [[...model], inputs]), subgroups]);
  } finally {
    await browser.close();
    server.close();
  }
}

async function inPage([runs, subgroups]) {
  const request = GPUAdapter.prototype.requestDevice;
  if (!subgroups)
    GPUAdapter.prototype.requestDevice = function (settings) {
      const requiredFeatures = [...settings.requiredFeatures].filter((feature) => !feature.startsWith("subgroup"));
      return request.call(this, { ...settings, requiredFeatures });
    };
  const { info } = await navigator.gpu.requestAdapter();
  const ort = await import("/ort.webgpu.min.mjs");
  const outputs = [];
  for (const [model, inputs] of runs) {
    const session = await ort.InferenceSession.create(Uint8Array.from(model), {
      executionProviders: ["webgpu"],
      extra: { session: { disable_cpu_ep_fallback: "1" } },
    });
    const feeds = Object.entries(inputs).map(([name, { data, shape }]) => [
      name,
      new ort.Tensor("float32", Float32Array.from(data), shape),
    ]);
    const { output } = await session.run(Object.fromEntries(feeds));
    outputs.push([...(await output.getData())]);
    await session.release();
  }
  return { outputs, lanes: [info.subgroupMinSize, info.subgroupMaxSize] };
}
