import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { createAttention as openOnGpu } from "headwise/webgpu";
import { type Browser, type Page } from "playwright-core";

import { attentionCases } from "../web/cases.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { launchChromiumWithGpu } from "./chromium.js";
import { remoteAttention, type RemoteAttention } from "./remoteAttention.js";
import { serveDist } from "./staticServer.js";

/** This many cases, spread over the whole table. All cases, also the published ones, run in Node, on the same adapter. */
const CASES = 6;

let browser: Browser;
let page: Page;
let hw: RemoteAttention;
let stop: () => void;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launchChromiumWithGpu();
  const server = await serveDist({});
  stop = () => server.stop();
  page = await browser.newPage();
  page.on("console", (message) => {
    // The empty page has no icon.
    if (!message.location().url.endsWith("/favicon.ico")) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(server.url.replace("127.0.0.1", "localhost"));
  hw = await remoteAttention(page, "/webgpu.js");
});
afterAll(async () => {
  await browser.close();
  stop();
});

test("the page computes with WebGPU", () => {
  expect(hw.report).toMatchObject({ backend: "webgpu", variant: "wgsl" });
});

test("a part of the case table agrees with the double reference", async () => {
  const all = attentionCases();
  const cases = Array.from({ length: CASES }, (_, n) => all[Math.floor((n * all.length) / CASES)]!);
  const problems: Record<string, unknown> = {};
  for (const { name, query, key, value, options } of cases) {
    const actual = await hw.scaledDotProductAttention(query, key, value, options);
    const found = resultProblems(actual, options.returns, referenceAttention(query, key, value, options));
    if (Object.keys(found).length > 0) problems[name] = found;
  }
  expect(problems).toEqual({});
});

test("buffers and encoders that the GPU would not take are refused by name, and a result outlives its instance", async () => {
  const outcome = await page.evaluate(async (entry) => {
    const { createAttention } = (await import(entry)) as { createAttention: typeof openOnGpu };
    const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
    const foreign = await (await navigator.gpu.requestAdapter())!.requestDevice();
    const hw = await createAttention({ device });
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
    const x = { data: new Float32Array(64).fill(1), shape: [1, 1, 8, 8] };
    const tensor = (buffer: object) => ({ buffer, shape: x.shape, dtype: "float32" as const });
    const destroyed = device.createBuffer({ size: 256, usage });
    destroyed.destroy();
    const bad = {
      destroyed,
      mapped: device.createBuffer({ size: 256, usage, mappedAtCreation: true }),
      foreign: foreign.createBuffer({ size: 256, usage }),
      fake: { size: 256, usage },
      proxy: new Proxy(device.createBuffer({ size: 256, usage }), {}),
    };
    const refusals: Record<string, string> = {};
    const refusal = (call: Promise<unknown>) => call.then(String, (error: unknown) => String(error));
    for (const [name, buffer] of Object.entries(bad))
      refusals[name] = await refusal(hw.scaledDotProductAttention(x, tensor(buffer), x));
    const finished = device.createCommandEncoder();
    finished.finish();
    refusals["finished"] = await refusal(hw.scaledDotProductAttention(x, x, x, { encoder: finished }));
    refusals["running"] = await (() => {
      const call = refusal(hw.scaledDotProductAttention(x, x, x));
      void Promise.resolve().then(() => hw.dispose());
      return call;
    })();
    const other = await createAttention({ device });
    const { output } = await other.scaledDotProductAttention(x, x, x, { location: "gpu" });
    other.dispose();
    const next = await createAttention({ device });
    const { output: read } = await next.scaledDotProductAttention(output, x, x);
    next.dispose();
    return { refusals, read: [...read.data].every((number) => Math.abs(number - 1) < 1e-5) };
  }, "/webgpu.js");
  const called = "scaledDotProductAttention:";
  expect(outcome).toEqual({
    refusals: {
      destroyed: `OptionError: ${called} key.buffer must be neither destroyed nor mapped`,
      mapped: `OptionError: ${called} key.buffer must be unmapped, got mapState "mapped"`,
      foreign: `OptionError: ${called} key.buffer must belong to this instance's device`,
      fake: `OptionError: ${called} key.buffer must belong to this instance's device`,
      proxy: `OptionError: ${called} key.buffer must be a GPUBuffer, got a proxy of one`,
      finished: `OptionError: ${called} encoder must be a GPUCommandEncoder of this instance's device that is not finished`,
      running: `DisposedError: ${called} the instance was disposed`,
    },
    read: true,
  });
}, 240_000);

test("nothing reached the console", () => {
  expect(complaints).toEqual([]);
});
