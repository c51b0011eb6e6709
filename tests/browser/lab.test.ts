import { gzipSync } from "node:zlib";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type Server } from "node:http";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { type Browser, type BrowserContext, type Page } from "playwright-core";

import { serve } from "../../web/demo/cli/server.js";
import { type Engine } from "../../web/demo/lab/engine/engine.js";
import { optionsOf, tensorsOf } from "../../web/demo/lab/rooms/masks/options.js";
import { fields as maskFields } from "../../web/demo/lab/rooms/masks/settings.js";
import { calculate } from "../../web/demo/lab/rooms/matrix/calculation.js";
import { fields as matrixFields, inputsOf } from "../../web/demo/lab/rooms/matrix/settings.js";
import { placed } from "../../web/demo/lab/rooms/positions/placing.js";
import { embeddings } from "../../web/demo/lab/rooms/positions/words.js";
import { readNpy, writeNpy } from "../../web/demo/lab/rooms/tensors/files/npy.js";
import { randomNormal } from "../../web/demo/lab/shell/random.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { Encoder } from "../../web/demo/model/encoder.js";
import { DEFAULT_SENTENCES } from "../../web/demo/model/story.js";
import { serveDemo } from "../web/demoCommand.js";
import { modelFiles } from "../web/demoModel.js";
import { launchChromium } from "./chromium.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ROOMS = ["sentence", "positions", "matrix", "flash", "masks", "device", "tensors"];
/** Node and the browser may run different variants, so their sums differ in the last bits. */
const TOLERANCE = 1e-5;

let browser: Browser;
let hw: Attention;
let server: Awaited<ReturnType<typeof serveDemo>>;
let page: Page;
const troubles: string[] = [];
const hosts = new Set<string>();

beforeAll(async () => {
  browser = await launchChromium();
  hw = await createAttention({ backend: "wasm", threads: 1 });
  server = await serveDemo([]);
  page = await watchedPage();
});
afterAll(async () => {
  await browser.close();
  await server.stop();
  hw.dispose();
});

async function watchedPage(): Promise<Page> {
  const opened = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  opened.on("pageerror", (error) => troubles.push(error.message));
  opened.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  opened.on("request", (request) => hosts.add(new URL(request.url()).host));
  return opened;
}

async function enter(place: string, where: Page = page, site = server.url): Promise<void> {
  const target = `${site}#/${place}`;
  await where.goto("about:blank");
  await where.goto(target);
  await ready(where, place.split("?")[0]!);
}

const ready = (where: Page, room: string) => where.waitForSelector(`[data-room=${room}][aria-busy=false]`);

/** The numbers of the room's first map. */
const mapNumbers = () =>
  page.evaluate(() => [
    ...(document.querySelector("attention-map") as unknown as { probs: { data: Float32Array } }).probs.data,
  ]);

function expectClose(found: readonly number[], wanted: ArrayLike<number>): void {
  expect(found).toHaveLength(wanted.length);
  const apart = found.map((value, i) => (Object.is(value, wanted[i]) ? 0 : Math.abs(value - wanted[i]!)));
  expect(Math.max(...apart)).toBeLessThanOrEqual(TOLERANCE);
}

/** The numbers of a visible matrix, rounded to two digits. */
const tableNumbers = (name: string) =>
  page
    .locator(`table[aria-label="${name}"] tbody td`)
    .evaluateAll((cells) => cells.map((cell) => Number(cell.textContent.replace("−", "-"))));

describe("every room computes what the package computes in Node", () => {
  test("sentence, with and without changes", async () => {
    const encoder = await Encoder.load(hw, modelFiles);
    const probs = async (options: Parameters<Encoder["encode"]>[1]) =>
      (await encoder.encode(DEFAULT_SENTENCES[0]!, options)).layers.flatMap((layer) => [...layer.probs]);
    await enter("sentence");
    expectClose(await mapNumbers(), await probs({}));
    await enter("sentence?gains=1,0,1,1,1.5,1,1,1&hidden=5&positions=false");
    const options = {
      positions: false,
      headGain: [
        [1, 0, 1, 1],
        [1.5, 1, 1, 1],
      ],
      hiddenTokens: [5],
    };
    expectClose(await mapNumbers(), await probs(options));
    expect(await page.textContent(".effect")).toMatch(/cosine of 0\.\d{4}/);
    expect(await page.getByText("their rows are equal").count()).toBe(1);
  });

  test.each(["none", "learned", "sinusoidal", "rotary"] as const)("positions: %s", async (kind) => {
    const x = embeddings(["the", "park", "by", "the", "park"]);
    const { query, key } = await placed(hw as unknown as Engine, x, 0, { kind, base: 1e4 });
    const { probs } = await hw.scaledDotProductAttention(query, key, key, { returns: { probs: true } });
    await enter(`positions?kind=${kind}`);
    expectClose(await mapNumbers(), probs.data);
  });

  test.each(["", "form=columns&causal=true", "heads=2&head=2&excludeSelf=true&scale=false", "softmax=false"])(
    "matrix: %s",
    async (query) => {
      const inputs = inputsOf(new State(matrixFields, new URLSearchParams(query)).values);
      const { heads, output } = await calculate(hw as unknown as Engine, inputs);
      await enter(`matrix?${query}`);
      const shown = heads.at(-1)!.weights;
      const turn = ({ rows, columns, data }: typeof output) =>
        inputs.columns ? Array.from(data, (_, i) => data[(i % rows) * columns + Math.floor(i / rows)]!) : data;
      const near = (found: number[], wanted: readonly number[]) =>
        wanted.forEach((value, i) => expect(Math.abs(found[i]! - value)).toBeLessThanOrEqual(0.00501));
      near(await tableNumbers("weights P"), turn(shown));
      near(await tableNumbers("output Y"), turn(output));
    },
  );

  test("flash", async () => {
    await enter("flash?step=9&row=3");
    const tensor = (seed: number) => ({ data: randomNormal(seed, 64), shape: [1, 1, 16, 4] });
    const { output } = await hw.scaledDotProductAttention(tensor(11), tensor(12), tensor(13), { causal: true });
    const said = await page.getByText("Finished:").textContent();
    const numbers = /\(([^)]+)\)/
      .exec(said!)![1]!
      .split(",")
      .map((text) => Number(text.trim().replace("−", "-")));
    numbers.forEach((value, d) => expect(Math.abs(value - output.data[60 + d]!)).toBeLessThanOrEqual(0.000501));
  });

  test.each([
    "",
    "left=5&alibi=true&softcap=5&sink=1&kvHeads=2&keyLength=20",
    "keys=9&emptyRows=uniform&excludeSelf=true",
  ])("masks: %s", async (query) => {
    const { values } = new State(maskFields, new URLSearchParams(query));
    const tensors = tensorsOf(values);
    const { probs } = await hw.scaledDotProductAttention(tensors.query, tensors.key, tensors.value, {
      ...optionsOf(values),
      returns: { probs: true },
    });
    await enter(`masks?${query}`);
    expectClose(await mapNumbers(), probs.data);
  });

  test("tensors that are dropped, and the output that is saved", async () => {
    const tensor = (seed: number) => ({ data: randomNormal(seed, 3 * 8 * 4), shape: [3, 8, 4] });
    const [query, key, value] = [tensor(1), tensor(2), tensor(3)];
    const { output, probs } = await hw.scaledDotProductAttention(query, key, value, {
      causal: true,
      returns: { probs: true },
    });
    await enter("tensors?causal=true");
    const files = Object.entries({ q: query, k: key, v: value });
    await page.setInputFiles(
      "#files",
      files.map(([name, { shape, data }]) => ({
        name: `${name}.npy`,
        mimeType: "",
        buffer: Buffer.from(writeNpy(shape, data)),
      })),
    );
    await page.getByText("Output [3, 8, 4]").waitFor();
    expectClose(await mapNumbers(), probs.data);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Save output.npy").click()]);
    const saved = readNpy(readFileSync(await download.path()), "output");
    expect(saved.shape).toEqual([3, 8, 4]);
    expectClose([...saved.data], output.data);
    await page.setInputFiles("#files", { name: "broken.npy", mimeType: "", buffer: Buffer.from("no") });
    await page.getByText("broken.npy is no .npy file").waitFor();
  });

  test("the device is measured, and the result can be shared", async () => {
    await enter("device?seconds=0.02");
    await page.getByText("Run the bench").click();
    await page.getByText(/^Measured on/).waitFor();
    const rows = await page.locator(".figures tbody tr").allTextContents();
    expect(rows.filter((row) => /relaxed.*GFLOP\/s.*of the roof.*e-7/.test(row)).length).toBeGreaterThan(0);
    expect(rows.at(-1)).toMatch(/WebGPU.*(GFLOP|adapter)/);
    await page.reload();
    await page.getByText(/^Measured on/).waitFor();
    expect(await page.locator(".figures tbody tr").allTextContents()).toEqual(rows);
  });
});

test("every room is near its definition in double precision, and its code can be seen", async () => {
  for (const room of ROOMS) {
    await enter(room);
    await page.getByText("Compare with double precision").click();
    const verdict = page.locator(".verdict", { hasText: "Against the definition" });
    const said = await verdict.textContent();
    const distances = [...said!.matchAll(/at most (\S+) apart/g)].map(([, text]) => Number(text));
    expect(Math.max(0, ...distances)).toBeLessThan(1e-5);
    expect(await page.locator(".code code").textContent()).toContain('from "headwise"');
  }
});

test.each(["light", "dark"] as const)(
  "axe finds nothing to complain of in %s rooms, and they fit a phone",
  async (colorScheme) => {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const room of ROOMS) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await enter(room);
      await page.evaluate(AXE);
      const violations = await page.evaluate(async () => {
        const { axe } = window as unknown as {
          axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        };
        const result = await axe.run();
        return result.violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
        );
      });
      expect([room, ...violations]).toEqual([room]);
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  },
);

test("the keyboard alone goes from room to room, sets and reads", async () => {
  await enter("sentence");
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
  const tabTo = async (words: string) => {
    for (let presses = 0; presses < 60 && (await focused()) !== words; presses++) await page.keyboard.press("Tab");
    expect(await focused()).toBe(words);
  };
  await tabTo("Skip to the room");
  await tabTo("Matrix");
  await page.keyboard.press("Enter");
  await ready(page, "matrix");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
  await page.keyboard.press("Tab"); // the first slider: tokens
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => location.hash.includes("tokens=5"));
  await ready(page, "matrix"); // a control that is drawn again while Tab moves on would lose the focus
  for (
    let presses = 0;
    presses < 120 && !(await page.evaluate(() => document.activeElement?.matches("[aria-label=scores] td")));
    presses++
  )
    await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.getByText(/^Row 2 of Q times column 2 of Kᵀ/).waitFor();
});

test("what is set survives a reload, through the address", async () => {
  await enter("masks");
  await page.getByRole("button", { name: "Mistral" }).click();
  await page.getByLabel("Queries", { exact: true }).press("ArrowLeft");
  await page.waitForFunction(() => location.hash.includes("queries=23"));
  await ready(page, "masks");
  const before = [page.url(), await mapNumbers()];
  await page.reload();
  await ready(page, "masks");
  expect([page.url(), await mapNumbers()]).toEqual(before);
  expect(await page.getByLabel("Window left", { exact: true }).inputValue()).toBe("7");
});

test("the page's code is under 300 KB gzipped", async () => {
  const bodies: Promise<Buffer>[] = [];
  const fresh = await watchedPage();
  fresh.on("response", (response) => {
    if (!/\/model\/|\.woff2$/.test(response.url())) bodies.push(response.body().catch(() => Buffer.alloc(0)));
  });
  await enter("sentence", fresh);
  const bytes = (await Promise.all(bodies)).reduce((sum, body) => sum + gzipSync(body).length, 0);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(300_000);
  await fresh.close();
});

test("a page that is not isolated computes with one thread and says why", async () => {
  const plain = await serveDemo(["--no-isolation"]);
  const fresh = await watchedPage();
  await enter("matrix", fresh, plain.url);
  await fresh.waitForSelector("#engine >> text=1 thread");
  await fresh.click("#engine summary");
  await fresh.getByText("not cross-origin isolated: one thread").waitFor();
  await fresh.close();
  await plain.stop();
});

test("a failure is said in words", async () => {
  const fresh = await browser.newPage();
  await fresh.route("**/model/vocab.json", (route) => route.fulfill({ status: 503, body: "" }));
  await fresh.goto(server.url);
  await fresh.getByText("status 503").waitFor();
  await fresh.close();
});

describe("the static site, on a host without headers", () => {
  let site: { server: Server; url: string };
  let context: BrowserContext;
  beforeAll(async () => {
    const folder = execFileSync(process.execPath, ["web/demo/site.mjs"], {
      cwd: fileURLToPath(new URL("../../", import.meta.url)),
      encoding: "utf8",
    }).trim();
    site = await serve({ folders: { "/": folder }, port: 0, isolation: false });
    context = await browser.newContext();
  });
  afterAll(async () => {
    await context.close();
    site.server.closeAllConnections();
    site.server.close();
  });

  test("isolates itself, and works without a network after the first visit", async () => {
    const visit = await context.newPage();
    await visit.goto(site.url);
    await visit.waitForFunction(() => crossOriginIsolated);
    await ready(visit, "sentence");
    await visit.waitForFunction(async () => (await caches.match("model/vocab.json")) !== undefined);
    await context.setOffline(true);
    await visit.reload();
    await ready(visit, "sentence");
    await visit.click("text=Flash");
    await ready(visit, "flash");
    expect(await visit.locator(".failure:visible").count()).toBe(0);
    await context.setOffline(false);
  });
});

test("nothing failed, and nothing came from elsewhere", () => {
  expect(troubles.filter((trouble) => !/404|Failed to load resource/.test(trouble))).toEqual([]);
  expect([...hosts].filter((host) => host && !host.startsWith("localhost:"))).toEqual([]);
});
