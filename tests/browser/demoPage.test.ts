import { availableParallelism } from "node:os";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { chromium, type Browser, type Page } from "playwright-core";

import { type Encoding } from "../../web/demo/model/encoder.js";
import { DEFAULT_SENTENCES } from "../../web/demo/model/story.js";
import { type WorkerMessage } from "../../web/demo/page/protocol.js";
import { runDemo, serveDemo } from "../web/demoCommand.js";

const CHROMIUM = process.env["HEADWISE_CHROMIUM"] ?? "/usr/bin/chromium";
/** Node and the browser may run different variants: their sums differ in the last bits. */
const TOLERANCE = 1e-5;

interface Sentence {
  readonly tokens: readonly string[];
  readonly embedding: readonly number[];
  readonly probs: readonly (readonly (readonly (readonly number[])[])[])[];
}

let browser: Browser;
let fromNode: readonly Sentence[];

beforeAll(async () => {
  // A container's root may not use Chromium's sandbox; the pages are our own.
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const { stdout } = await runDemo(["--json", "--no-serve"]);
  fromNode = (JSON.parse(stdout) as { sentences: Sentence[] }).sentences;
});
afterAll(() => browser.close());

describe.each([
  ["cross-origin isolated", [], true],
  ["not isolated", ["--no-isolation"], false],
] as const)("the page, %s", (_, args, isolated) => {
  let server: Awaited<ReturnType<typeof serveDemo>>;
  let page: Page;
  const troubles: string[] = [];
  const hosts = new Set<string>();

  beforeAll(async () => {
    server = await serveDemo(args);
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.on("pageerror", (error) => troubles.push(error.message));
    page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
    page.on("request", (request) => hosts.add(new URL(request.url()).host));
    await page.goto(server.url);
    await page.waitForSelector("#zoom [role=grid]");
  });
  afterAll(async () => {
    await page.close();
    await server.stop();
  });

  test("says with how many threads it runs, and why not more", async () => {
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(isolated);
    const summary = await page.textContent("#report summary");
    if (!isolated || availableParallelism() === 1) expect(summary).toMatch(/^wasm · (simd|relaxed) · 1 thread$/);
    else expect(summary).toMatch(/^wasm · (simd|relaxed) · ([2-9]|\d\d+) threads$/);
    const reasons = await page.textContent("#report ul");
    if (!isolated) expect(reasons).toMatch(/threads: .*isolated/);
  });

  test("shows what Node computes for the default sentence", async () => {
    const { tokens, probs } = fromNode[0]!;
    expect(await page.inputValue("#sentences")).toBe(DEFAULT_SENTENCES.join("\n"));
    expect(await page.locator("#heads button").count()).toBe(8);
    expect(await page.locator("#zoom th[scope=row]").count()).toBe(tokens.length);
    for (const [index, head] of probs.flat().entries()) {
      await page.locator("#heads button").nth(index).click();
      const labels = await page
        .locator("#zoom [role=gridcell]")
        .evaluateAll((cells) => cells.map((cell) => cell.ariaLabel));
      const shown = labels.map((label) => Number(/: <?(\d+) %$/.exec(label!)![1]));
      // "<1 %" and a rounding on the edge are each at most 1 % away
      head.flat().forEach((prob, i) => expect(Math.abs(shown[i]! - 100 * prob)).toBeLessThanOrEqual(1));
    }
  });

  test("its worker computes the numbers of Node", async () => {
    const fromWorker = await page.evaluate(async (texts) => {
      const worker = new Worker("worker.js", { type: "module" });
      const encodings = await new Promise<readonly Encoding[]>((resolve, reject) => {
        worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
          if (data.kind === "encoded") resolve(data.encodings);
          if (data.kind === "failed") reject(new Error(data.message));
        };
        worker.postMessage({ id: 1, texts, positions: true });
      });
      worker.terminate();
      return encodings.map(({ embedding, layers }) => [...embedding, ...layers.flatMap(({ probs }) => [...probs])]);
    }, DEFAULT_SENTENCES);
    const expected = fromNode.map(({ embedding, probs }) => [...embedding, ...probs.flat(3)]);
    expect(fromWorker.map((numbers) => numbers.length)).toEqual(expected.map((numbers) => numbers.length));
    const differences = expected.flatMap((numbers, i) =>
      numbers.map((value, j) => Math.abs(value - fromWorker[i]![j]!)),
    );
    expect(Math.max(...differences)).toBeLessThanOrEqual(TOLERANCE);
  });

  test("pointer and arrow keys move through the cells, with a text read-out", async () => {
    const cell = (row: number, column: number) =>
      page.locator(`#zoom tbody tr:nth-child(${row}) td:nth-child(${column + 1})`);
    await page.locator("#heads button").first().click();
    await cell(4, 5).hover();
    expect(await page.textContent("#reading")).toMatch(
      /^park₄ gives <?\d+ % of its attention to the₅ \(score -?\d+\.\d\d\)\. The other way/,
    );
    await cell(4, 5).focus();
    await page.keyboard.press("ArrowLeft");
    expect(await page.textContent("#reading")).toMatch(/^park₄ gives \d+ % of its attention to itself/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("End");
    expect(await page.textContent("#reading")).toMatch(/^the₅ gives <?\d+ % of its attention to \. /);
    await page.keyboard.press("ArrowRight"); // stays in the grid
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toMatch(/^the₅ to \.: /);
    expect(await page.locator("#zoom [role=gridcell][tabindex='0']").count()).toBe(1);
  });

  test("without positions equal words have equal rows", async () => {
    expect(await page.textContent("#twins")).toContain("differ by up to");
    await page.uncheck("#positions");
    await page.getByText("their rows are equal").waitFor();
    await page.check("#positions");
    await page.getByText("differ by up to").waitFor();
  });

  test("a new sentence is read as it is typed; one alone has no similarity matrix", async () => {
    expect(await page.locator("#matrix tbody tr").count()).toBe(2);
    await page.fill("#sentences", "word ".repeat(150).trim());
    await page.getByText("128 tokens. The model reads 128; the last 22 are left out.").waitFor();
    expect(await page.locator("#similarity").isVisible()).toBe(false);
    expect(await page.locator("#zoom [role=gridcell]").count()).toBe(128 * 128);
  });

  test("fits a phone", async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  });

  test("nothing failed, and nothing came from elsewhere", () => {
    expect(troubles).toEqual([]);
    expect([...hosts]).toEqual([new URL(server.url).host]);
  });
});

test("a failure is said in words", async () => {
  const server = await serveDemo([]);
  const page = await browser.newPage();
  await page.route("**/model/vocab.json", (route) => route.fulfill({ status: 503, body: "" }));
  await page.goto(server.url);
  await page.getByText("status 503").waitFor();
  expect(await page.locator("#failure").isVisible()).toBe(true);
  expect(await page.locator("#loading").isVisible()).toBe(false);
  await page.close();
  await server.stop();
});
