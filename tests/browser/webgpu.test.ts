import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type * as headwiseOnGpu from "headwise/webgpu";
import { chromium, type Browser } from "playwright-core";

import { attentionCases } from "../web/cases.js";
import { referenceAttention } from "../web/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { serveDist } from "./staticServer.js";

const CHROMIUM = process.env["HEADWISE_CHROMIUM"] ?? "/usr/bin/chromium";

/** A representative part of the table: the rest runs in Node, on the same adapter. */
const NAMES = [
  "causal-upper-left-64-by-64",
  "layout-BSHD-mask",
  "grouped-4-over-2",
  "bias-half",
  "decode-5000-keys-half",
];

let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--enable-unsafe-webgpu"] });
});
afterAll(() => browser.close());

test("WebGPU in a page agrees with the double reference", async () => {
  const server = await serveDist({});
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    // the empty page has no icon
    if (!message.location().url.endsWith("/favicon.ico")) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(server.url.replace("127.0.0.1", "localhost"));
  const cases = attentionCases().filter(({ name }) => NAMES.includes(name));
  expect(cases).toHaveLength(NAMES.length);
  for (const { name, query, key, value, options } of cases) {
    const result = await page.evaluate(compute, JSON.stringify([query, key, value, options], pack));
    const actual = JSON.parse(result, unpack) as never;
    const problems = resultProblems(actual, options.returns, referenceAttention(query, key, value, options));
    expect([name, problems]).toEqual([name, {}]);
  }
  expect(complaints).toEqual([]);
  await page.close();
  server.stop();
}, 180_000);

/** Typed arrays cross between test and page as JSON. */
function pack(_: string, value: unknown): unknown {
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (kind.endsWith("Array") && kind !== "Array") return { kind, numbers: Array.from(value as Float32Array, String) };
  return value;
}

function unpack(_: string, value: unknown): unknown {
  const packed = value as { kind?: string; numbers?: string[] } | null;
  if (!packed?.numbers) return value;
  const kinds: Record<string, { from(numbers: number[]): unknown }> = {
    Float32Array,
    Uint16Array,
    Uint8Array,
    Int32Array,
  };
  return kinds[packed.kind!]!.from(packed.numbers.map(Number));
}

/** Runs in the page, one instance for all calls. */
async function compute(call: string): Promise<string> {
  const kinds: Record<string, { from(numbers: number[]): unknown }> = {
    Float32Array,
    Uint16Array,
    Uint8Array,
    Int32Array,
  };
  const revive = (_: string, value: { kind?: string; numbers?: string[] } | null) =>
    value?.numbers ? kinds[value.kind!]!.from(value.numbers.map(Number)) : value;
  const held = window as { instance?: headwiseOnGpu.Attention };
  const address = "/webgpu.js";
  held.instance ??= await ((await import(address)) as typeof headwiseOnGpu).createAttention();
  const [query, key, value, options] = JSON.parse(call, revive) as Parameters<typeof held.instance.encode> extends [
    unknown,
    ...infer Arguments,
  ]
    ? Arguments
    : never;
  const result = await held.instance.scaledDotProductAttention(query, key, value, options as object);
  return JSON.stringify(result, (_, item: unknown) => {
    const kind = Object.prototype.toString.call(item).slice("[object ".length, -1);
    return kind.endsWith("Array") && kind !== "Array"
      ? { kind, numbers: Array.from(item as Float32Array, String) }
      : item;
  });
}
