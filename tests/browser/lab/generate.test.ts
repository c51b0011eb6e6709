import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";

import { LabPage } from "./labPage.js";
import { routeDecoders } from "./randomDecoder.js";

const lab = new LabPage();
let page: Page;
beforeAll(async () => {
  page = await lab.open();
});

const own = () => page.locator(".own-text:not(.twin)").textContent();
const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
const cacheCell = (name: string, column: string) =>
  page.locator(`[data-cache="${name}"] [data-label="${column}"]`).textContent();
const written = async () => {
  await press("Write");
  await page.getByRole("button", { name: "Write", exact: true }).waitFor(); // “Stop” stands there from the click on
  return own();
};

test("a beginning is typed, characters appear, and the cache grows", async () => {
  await lab.enter("generate", page);
  await page.getByLabel("Beginning").fill("the word");
  await page.locator(".own-text", { hasText: /^the word$/ }).waitFor();
  const before = await cacheCell("float32", "tokens kept");
  expect(before).toBe("8");
  const text = await written();
  expect(text!.startsWith("the word")).toBe(true);
  expect(text).toHaveLength(8 + 300);
  expect(await cacheCell("float32", "tokens kept")).toBe("308");
  expect(await page.textContent(".run-status")).toMatch(/^[\d,.]+ characters a second · \d threads?$/);
  expect(await page.textContent(".main-finding")).toMatch(/^After 308 characters “.”/);
});

test("the same seed writes the same text again, from the address too", async () => {
  const text = await own();
  const address = await page.evaluate(() => location.hash.slice(2));
  await press("Begin again");
  await page.locator(".own-text", { hasText: /^the word$/ }).waitFor();
  expect(await written()).toBe(text);
  await lab.enter(address, page);
  expect(await written()).toBe(text);
});

test("what is pressed while the model is loaded is done when it is there", async () => {
  const late = await lab.open();
  await routeDecoders(late);
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await late.route("**/decoders/text.safetensors", async (route) => {
    await held;
    await route.fallback();
  });
  await late.goto(`${lab.url}#/generate`);
  const named = (name: string) => late.getByRole("button", { name, exact: true });
  await named("Write").click();
  await named("Stop").waitFor();
  release();
  await named("Write").waitFor();
  await late.locator(".own-text:not(.twin)", { hasText: /.{300}/s }).waitFor();
  expect(await late.locator(".failure:visible").count()).toBe(0);
  await late.close();
});

test("a comparison says so if there is no model", async () => {
  const without = await lab.open();
  await without.route("**/decoders/*", (route) => route.fulfill({ status: 500 }));
  await without.goto(`${lab.url}#/generate`);
  await without.getByText("This did not work").waitFor();
  await lab.compare(without);
  await without.getByText("This did not work: the model was closed").waitFor();
  await without.close();
});

test("a bar that is clicked is written", async () => {
  await lab.enter("generate", page);
  const third = page.locator(".next-tokens li").nth(2).getByRole("button");
  const letter = (await third.locator("b").textContent())!.replace("␣", " ").replace("⏎", "\n");
  await third.click();
  await page.waitForFunction((end) => document.querySelector(".own-text")!.textContent.endsWith(end), `park.${letter}`);
});

test("a sum that cannot be read does not keep the old result", async () => {
  await lab.enter("generate?model=sums", page);
  expect(await page.getByLabel("Beginning").inputValue()).toBe("123+456=");
  await press("One token");
  await page.getByLabel("Beginning").fill("12x+3=");
  await page.locator(".own-text:not(.twin)", { hasText: /^12\+3=$/ }).waitFor();
  await page.getByText("This model does not know “x”").waitFor();
  expect(await page.getByLabel("Beginning").inputValue()).toBe("12x+3=");
  await page.getByLabel("Beginning").fill("what?");
  await page.getByText("Nothing of this can be read.").waitFor();
  expect((await own())!.trim()).toBe("");
});

test("int8 has a larger error than float16, and writes", async () => {
  await lab.enter("generate?dtype=int8", page);
  await page.locator('[data-cache="int8"]', { hasText: "writes" }).waitFor();
  expect(await cacheCell("float32", "largest change of a chance")).toBe("the reference");
  for (const name of ["float16", "int8"])
    expect(await cacheCell(name, "largest change of a chance")).toMatch(/percentage points|· 10|no change/);
});

test("a ring keeps its first and last characters, and the others are pale", async () => {
  await lab.enter("generate?ring=sinks&window=16&keep=4", page);
  await written();
  expect(await cacheCell("float32", "tokens kept")).toBe("20");
  expect(await cacheCell("whole", "tokens kept")).toBe(String((await own())!.length));
  const kept = await page.locator(".own-text span:not(.dropped)").count();
  expect(kept).toBe(20);
});

test("a head is switched off, and the text with all heads stands beside it", async () => {
  await lab.enter("generate", page);
  const all = await written();
  await page.getByLabel("layer 1 head 1 is on").uncheck();
  await page.getByText(/^Without layer 1 head 1/).waitFor();
  const without = await written();
  expect(without).not.toBe(all);
  expect(await page.locator(".twin").textContent()).toBe(all);
  expect(await page.getByText(/^Without layer 1 head 1 the text goes another way/).count()).toBe(1);
});

test("every head has a place of its own, and the pointer reaches its switch", async () => {
  await lab.enter("generate", page);
  await written();
  const switches = page.locator(".head-tile input");
  expect(await switches.count()).toBeGreaterThan(3);
  for (const each of await switches.all()) {
    await each.scrollIntoViewIfNeeded();
    const isReached = await each.evaluate((box) => {
      const { x, y, width, height } = box.getBoundingClientRect();
      return document.elementFromPoint(x + width / 2, y + height / 2) === box;
    });
    expect(isReached).toBe(true);
  }
});

test("another head colours the text anew", async () => {
  await lab.enter("generate", page);
  await written();
  const colours = () =>
    page.locator(".own-text span").evaluateAll((letters) => letters.map((letter) => letter.getAttribute("style")).join()); // oxfmt-ignore
  const before = await colours();
  await page.locator('[data-head="2.2"]').click();
  await page.locator('[data-head="2.2"][aria-pressed=true]').waitFor();
  expect(await colours()).not.toBe(before);
});

test("the sums have their own beginning", async () => {
  await lab.enter("generate", page);
  await page.getByText("sums", { exact: true }).click();
  await page.locator(".own-text", { hasText: "123+456=" }).waitFor();
  await lab.ready("generate", page);
  await page.getByText("stories", { exact: true }).click();
  await page.locator(".own-text", { hasText: "Kate and Ben" }).waitFor();
});

test("rings are measured on a text that the decoder has not learned from", async () => {
  await lab.enter("generate?window=64", page);
  await page.getByRole("button", { name: /^Read a text/ }).click();
  await page.getByText(/^After character 96, where the rings are full: [\d.]+ nats/).waitFor();
  for (const kind of ["whole", "sinks", "window"])
    expect(await page.locator(`.endless-chart .${kind}`).getAttribute("points")).toMatch(/^[\d., ]+$/);
});

test("weights that are missing are said in words, with the command that makes them", async () => {
  const bare = await lab.browser.newPage();
  await bare.route("**/decoders/*", (route) => route.fulfill({ status: 404, body: "" }));
  await bare.goto(`${lab.url}#/generate`);
  await bare
    .getByText(/text\.json could not be loaded: the server answered 404\. “npm run train:demo” makes/)
    .waitFor();
  await bare.close();
});

test("the trained decoders add, and tell a story to its end", async () => {
  const trained = await lab.browser.newPage();
  await trained.goto(`${lab.url}#/generate?model=sums&temperature=0&begin=${encodeURIComponent("12+34=")}`);
  await lab.ready("generate", trained);
  await trained.getByRole("button", { name: "Write", exact: true }).click();
  await trained.getByText(/^12 \+ 34 = 46 is right\./).waitFor();
  await trained.getByText("stories", { exact: true }).click();
  await trained.locator(".own-text", { hasText: /^Kate and Ben lived near the park\.$/ }).waitFor();
  const cut = await trained
    .locator(".next-tokens b")
    .evaluateAll((words) => words.filter((word) => word.scrollWidth > word.clientWidth).map((word) => word.textContent)); // oxfmt-ignore
  expect(cut).toEqual([]);
  const starts = await trained
    .locator(".next-tokens i")
    .evaluateAll((bars) => bars.map((bar) => Math.round(bar.getBoundingClientRect().x)));
  expect(new Set(starts).size).toBe(1); // the bars begin at one line
  await trained.getByRole("button", { name: "song", exact: true }).click();
  await trained.locator(".own-text", { hasText: /Leo sang: “$/ }).waitFor();
  await trained.getByRole("button", { name: "Write", exact: true }).click();
  await trained.getByText("The story has ended.").waitFor();
  expect(await trained.locator(".own-text:not(.twin)").textContent()).toMatch(
    /Leo sang: “[A-Z][a-z ]+\.” .*[.?!”]\n?$/,
  );
  expect(await trained.locator(".jobs li").count()).toBeGreaterThan(2);
  await trained.close();
});

test("all heads are asked what a pronoun means, in stories and in the visitor's text", async () => {
  const trained = await lab.browser.newPage({ viewport: { width: 390, height: 800 } });
  const begin = "Kate and Ben lived near the park. Kate had a red ball. She liked it very much.";
  await trained.goto(`${lab.url}#/generate?begin=${encodeURIComponent(begin)}`);
  await lab.ready("generate", trained);
  await lab.unfold(trained);
  await trained.getByRole("button", { name: "Ask all heads" }).press("Enter");
  const person = trained.getByRole("region", { name: "He or she" });
  await person.getByText(/Layer 2 head 5 finds the name that is meant: 7\d\u00a0% of its weight is there/).waitFor();
  const thing = trained.getByRole("region", { name: "It or them" });
  expect(await thing.textContent()).toMatch(/No head finds the noun that is meant: the closest is layer 1 head 2, with 4\d\u00a0%/); // oxfmt-ignore
  expect(await thing.textContent()).toMatch(/So the model goes by “a” more than by the noun\./);
  expect(await trained.locator(".own-pronouns li").allTextContents()).toEqual([
    expect.stringMatching(/^“she” means Kate: layer 2 head 5 has [\w ]*\d+\u00a0% of its weight on “Kate”\.$/),
    expect.stringMatching(/^“it” means the ball: layer 1 head 2 has [\w ]*\d+\u00a0% of its weight on “ball”\.$/),
  ]);
  for (const section of [person, thing]) {
    const [before, after] = await section.locator(".looked-text .most").allTextContents();
    expect(before).not.toBe(after);
  }
  expect(await trained.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await lab.axe(trained)).toEqual([]);
  await trained.getByRole("button", { name: "One token" }).click();
  await trained.getByText("The text above has changed: ask again to see its pronouns.").waitFor();
  expect(await trained.locator(".own-pronouns").isVisible()).toBe(false);
  await trained.getByText("sums", { exact: true }).click();
  await trained.locator(".own-text", { hasText: "123+456=" }).waitFor();
  expect(await trained.getByRole("button", { name: "Ask all heads" }).isVisible()).toBe(false);
  await trained.close();
});
