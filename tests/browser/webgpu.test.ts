import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Attention } from "headwise";
import { attention as onnxAttention, rotaryEmbedding as onnxRotary } from "headwise/onnx";
import { type Browser, type Page } from "playwright-core";

import { Encoder } from "../../web/demo/model/encoder.js";
import { PARK, PHONE } from "../../web/demo/model/story.js";
import { differences as onnxDifferences, inputsOf, onnxCases, type Result } from "../conformance/onnxCases.js";
import { attentionCases } from "../web/cases.js";
import { modelFiles, original } from "../web/demoModel.js";
import { referenceAttention } from "../web/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { launchChromium } from "./chromium.js";
import { remoteAttention, type RemoteAttention } from "./remoteAttention.js";
import { serveDist } from "./staticServer.js";

/** A part of the table that is spread over all of it: the whole runs in Node, on the same adapter. */
const CASES = 42;

let browser: Browser;
let page: Page;
let hw: RemoteAttention;
let stop: () => void;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launchChromium("--enable-unsafe-webgpu");
  const server = await serveDist({});
  stop = () => server.stop();
  page = await browser.newPage();
  page.on("console", (message) => {
    // the empty page has no icon
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

test("the model of the demo embeds as its makers' graph does, to 1e-4", async () => {
  const encoder = await Encoder.load(hw, modelFiles);
  for (const text of [PARK, PHONE]) {
    const [expected] = await original.embed([text]);
    const { embedding } = await encoder.encode(text);
    expect(Math.max(...embedding.map((value, i) => Math.abs(value - expected![i]!)))).toBeLessThanOrEqual(1e-4);
  }
});

const published = onnxCases();
if (!published) test.skip("published ONNX cases (skipped: they are not on this machine, see HEADWISE_CASES)", () => {});
else
  test("published ONNX cases", async () => {
    const operators = { Attention: onnxAttention, RotaryEmbedding: onnxRotary } as unknown as Record<
      string,
      (hw: Attention, inputs: object, attributes: object, options: { opset: number }) => Promise<Record<string, Result>>
    >;
    const problems: Record<string, unknown> = {};
    for (const example of published.filter(({ op }) => op in operators)) {
      const { name, op, attributes, opset, outputs } = example;
      const results = await operators[op]!(hw as unknown as Attention, inputsOf(example), attributes, { opset });
      const found = outputs.flatMap((output) => onnxDifferences(results[output.name], output));
      if (found.length > 0) problems[name] = found;
    }
    expect(problems).toEqual({});
  });

test("nothing reached the console", () => {
  expect(complaints).toEqual([]);
});
