import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, test } from "@jest/globals";

import type { BenchDocument } from "../../../web/demo/lab/rooms/bench/benchFile.js";
import { LabPage } from "./labPage.js";

const lab = new LabPage();

const EXAMPLE = readFileSync("tests/bench/schema/example.json", "utf8");
const example = JSON.parse(EXAMPLE) as BenchDocument;
const upload = (name: string, value: object | string) => ({
  name,
  mimeType: "application/json",
  buffer: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
});
/** The example as another machine would have measured it. */
const other = (device: string, factor: number): BenchDocument => ({
  ...example,
  devices: [{ ...example.devices[0]!, id: device, load: 0 }],
  measurements: example.measurements.map((each) => ({
    ...each,
    device,
    samples: each.samples.map((sample) => factor * sample),
  })),
});
const give = (...files: ReturnType<typeof upload>[]) => lab.page.setInputFiles("#bench-files", files);
const bars = () => lab.page.locator(".bench-chart li");
const alert = () => lab.page.locator(".shelf [role=alert]");

test("files are drawn side by side; ratios, the axis and the order follow the controls", async () => {
  await lab.enter("bench");
  const count = example.measurements.length;
  expect(await bars().count()).toBe(count);
  await lab.page.getByText("The machine was busy").waitFor();

  await give(upload("bench.json", other("slow machine", 2)), upload("bench.json", other("fast machine", 1)));
  await lab.page.getByText("2 files: 1 shape").waitFor();
  expect(await bars().count()).toBe(2 * count);
  await lab.page.getByText("bench.json (2)").first().waitFor(); // two files of one name stay two
  expect(await bars().filter({ hasText: "slow machine" }).count()).toBe(count);

  // On each device an engine takes 1 × its own time, and the factor between the devices is no longer seen.
  await lab.page.getByRole("radio", { name: "ratios" }).check();
  await lab.page.getByText("below 1 is faster").waitFor();
  const base = await lab.page.getByLabel("Divide by").inputValue();
  const own = bars().filter({ hasText: base }).locator(".bench-value");
  expect(await own.allTextContents()).toEqual([expect.stringMatching(/^1× /), expect.stringMatching(/^1× /)]);

  await lab.page.getByRole("radio", { name: "times" }).check();
  const width = () => bars().first().locator(".bench-bar").evaluate((bar) => bar.getBoundingClientRect().width); // oxfmt-ignore
  const logarithmic = await width();
  await lab.page.getByLabel("Logarithmic").uncheck();
  await lab.page.getByText("Axes begin at 0.").waitFor();
  expect(await width()).not.toBe(logarithmic);
  await lab.page.locator("input[value=device]").check();
  await lab.ready("bench");
  expect(await bars().first().textContent()).toContain("slow machine");
  expect(await bars().nth(count).textContent()).toContain("fast machine");
  expect(await lab.axe()).toEqual([]);
});

test("a host that does not answer keeps nobody from the controls", async () => {
  const page = await lab.open();
  await page.route("**/never.json", () => {});
  await page.goto(`${lab.url}#/bench?file=never.json`);
  await page.getByRole("radio", { name: "ratios" }).check();
  await lab.ready("bench", page);
  await page.getByText("below 1 is faster").waitFor();
  await page.close();
});

test("what is missing is said with its file and field, and the table is saved with every sample", async () => {
  await lab.enter("bench");
  const [first, ...rest] = other("short machine", 1).measurements;
  await give(upload("short.json", { ...other("short machine", 1), measurements: [{ ...first, samples: [1, 2] }, ...rest.slice(1)] })); // oxfmt-ignore
  await lab.page.getByText("short.json: samples: 1 of").waitFor();
  await lab.page.getByText("are neither measured nor in the list missing").waitFor();
  const [download] = await Promise.all([
    lab.page.waitForEvent("download"),
    lab.page.getByRole("button", { name: "Save bench.csv" }).click(),
  ]);
  const lines = readFileSync(await download.path(), "utf8")
    .trim()
    .split("\r\n");
  expect(lines).toHaveLength(1 + rest.length);
  expect(lines.filter((line) => line.endsWith(",1 2"))).toHaveLength(1);
});

test("hostile files are refused by name, run nothing, and leave what is shown", async () => {
  await lab.enter("bench");
  const mark = '<img src=x onerror="window.hostile=1">';
  await give(
    upload("good.json", other(mark, 1)),
    upload("broken.json", "{"),
    upload("field.json", { ...example, [mark]: 1 }),
    upload("deep.json", "[".repeat(1_000_000)),
    upload("large.json", JSON.stringify({ ...example, note: "x".repeat(4_000_000) })),
    upload("future.json", { ...example, version: 2 }),
  );
  await alert().getByText("broken.json is not JSON.").waitFor();
  const said = await alert().locator("p").allTextContents();
  expect(said.map((words) => words.split(/[: ]/)[0])).toEqual([
    "broken.json",
    "field.json",
    "deep.json",
    "large.json",
    "future.json",
  ]);
  expect(await bars().filter({ hasText: mark }).count()).toBe(example.measurements.length);
  expect(await lab.page.evaluate(() => "hostile" in window)).toBe(false);
  await lab.page.getByRole("button", { name: "Remove good.json" }).press("Enter");
  await lab.page.getByText("No file is shown.").waitFor();
  expect(await lab.page.evaluate(() => document.activeElement!.textContent)).toBe("Show the example");
  await lab.page.keyboard.press("Enter");
  await lab.page.getByText("An example: ").waitFor();
});

test("the address of a file is fetched if it is https or of the page's own host, without cookies", async () => {
  const page = await lab.open();
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.route("**/measured.json", (route) => route.fulfill({ json: other("fetched machine", 1) }));
  await lab.enter("bench", page);
  expect(requests.filter((url) => url.endsWith(".json"))).toEqual([]); // nothing without an address
  await lab.enter("bench?file=measured.json", page);
  await page.getByText("1 file: 1 shape").waitFor();
  expect(await page.locator(".bench-chart li").filter({ hasText: "fetched machine" }).count()).toBeGreaterThan(0);
  expect(requests.filter((url) => url.endsWith("measured.json"))).toHaveLength(1);

  // another host without https
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    response.end(EXAMPLE);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/measured2.json`;
  await page.getByLabel("Or the https address of a file").fill(address);
  await page.getByRole("button", { name: "Fetch" }).click();
  await page.getByText("the page fetches https only, or from its own host").waitFor();
  server.close();
  expect(asked).toEqual([]);
  await page.waitForFunction(() => location.hash.includes("measured2.json")); // written a moment later
  await page.close();
});

test("in German engines have threads in German; columns of words begin at the left, and no command breaks after a hyphen", async () => {
  const page = await lab.open();
  await page.setViewportSize({ width: 1366, height: 900 });
  await page.goto(`${lab.url}?lang=de#/bench`);
  await lab.ready("bench", page);
  const room = (await page.locator("main").innerText()).replace(/npm run .*/, "");
  expect(room).toMatch(/wasm · relaxed · 1 Thread\b/);
  expect(room).not.toMatch(/\bthreads?\b/);
  const columns = await page.locator(".bench-times tbody tr").first().locator("td").evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign)); // oxfmt-ignore
  expect(columns).toEqual(["left", "left", "left", "right", "right", "right", "right", "left"]);
  for (const width of [1366, 700, 390, 320]) {
    await page.setViewportSize({ width, height: 900 });
    const broken = await page.locator(".command span").evaluateAll((words) => words.filter((word) => word.getClientRects().length > 1 || word.getBoundingClientRect().height > 30).map((word) => word.textContent)); // oxfmt-ignore
    expect([width, ...broken]).toEqual([width]);
  }
  expect(await page.locator(".command").first().textContent()).toContain("--rounds 9");
  await page.close();
});
