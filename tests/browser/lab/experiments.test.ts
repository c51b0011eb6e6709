import { beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";

import { LabPage, leave } from "./labPage.js";

const lab = new LabPage();
let page: Page;

beforeAll(async () => {
  page = await lab.open();
  await page.setViewportSize({ width: 390, height: 800 });
});

/** Clicks an experiment in a fresh room, and waits for what it has seen. */
async function tried(name: string): Promise<{ seen: string; control: string; next: string }> {
  await leave(page, lab.url);
  await page.goto(`${lab.url}#/generate`);
  await lab.ready("generate", page);
  await lab.unfold(page);
  await page.getByRole("button", { name }).press("Enter");
  const card = page.locator(".card:has(.experiments)");
  await card.getByText(/^The control: /).waitFor();
  const [seen, control] = await card.locator(".finding").allTextContents();
  await page.waitForFunction(() => location.hash.includes("topK=40"));
  await lab.ready("generate", page);
  return { seen: seen!, control: control!, next: (await page.locator(".next-tokens b").first().textContent())! };
}

test("one click swaps a word: the head that moves most colours the text, and another word does not move it", async () => {
  const { seen, control, next } = await tried("Swap one word");
  const [, layer, head, moved] = /layer (\d) head (\d) moves most: (\d+)\u00a0% of its weight/.exec(seen)!;
  expect(Number(moved)).toBeGreaterThan(80);
  expect(control).toMatch(/The same head moves (less than 1|\d)\u00a0% of its weight/);
  expect(next).toBe("rain");
  expect(await page.locator(".own-text").first().textContent()).toMatch(/Leo sang: “Sun star$/);
  expect(await page.locator("[data-head][aria-pressed=true]").getAttribute("data-head")).toBe(`${layer}.${head}`);
});

test("one click switches the heads that copy off: the list does not go on, and the page says what others would do", async () => {
  const { seen, control, next } = await tried("Switch off the heads that copy");
  expect(seen).toMatch(
    /“rice” still has at least (\d\d|more than 99)\u00a0%\. Without all of them it has (0|less than 1)\u00a0%\./,
  );
  expect(control).toMatch(/all heads of layer 3\. “rice” has (9\d|100|more than 99)\u00a0%\.$/);
  expect(next).not.toBe("rice");
  for (let head = 1; head <= 6; head++)
    expect(await page.getByLabel(`layer 2 head ${head} is on`).isChecked()).toBe(false);
});

test("one click shows a head that looks at the answer, which the model does not give without another head", async () => {
  const { seen, control, next } = await tried("Two heads look at the answer");
  const [, needed, spared] = /Without layer 2 head (\d) the model expects “bench” \(\d+\u00a0%\), though layer 2 head (\d) has/.exec(seen)!; // oxfmt-ignore
  expect(control).toContain(`without layer 2 head ${spared} the model expects “chair”`);
  expect(next).toBe("bench");
  expect(await page.getByLabel(`layer 2 head ${needed} is on`).isChecked()).toBe(false);
  expect(await page.locator("[data-head][aria-pressed=true]").getAttribute("data-head")).toBe(`2.${spared}`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await lab.axe(page)).toEqual([]); // a word that has all of the weight can be read, too
  }
});

test("a visitor's own text and words are tried, with their control, by keyboard alone", async () => {
  await leave(page, lab.url);
  await page.goto(`${lab.url}#/generate`);
  await lab.ready("generate", page);
  await lab.unfold(page);
  const swap = page.getByRole("group", { name: "Swap one word" });
  await swap.getByLabel("Text").fill("One day Emma met Tom at the farm. Emma sang: “Wind snow fire sand.” Tom sang: “Wind snow"); // oxfmt-ignore
  const button = swap.getByRole("button", { name: "Swap one word" });
  expect(await button.isDisabled()).toBe(true); // "moon" does not stand there
  expect(await swap.getByRole("status").textContent()).toBe("“moon” is no word of the text that the model knows.");
  await swap.getByLabel("The word").fill("snow");
  await swap.getByLabel("becomes").fill("rocket");
  expect(await swap.getByRole("status").textContent()).toMatch(/does not know “rocket” as one word/);
  await swap.getByLabel("becomes").fill("fire");
  expect(await swap.getByRole("status").textContent()).toBe("");
  await page.keyboard.press("Tab");
  expect(await button.evaluate((node) => node === document.activeElement)).toBe(true);
  await page.keyboard.press("Enter");
  await page.getByText(/^The control: /).waitFor();
  const [seen, control] = await page.locator(".card:has(.experiments) .finding").allTextContents();
  expect(seen).toMatch(/^The last “snow” is now “fire”.* expects “sand”/);
  expect(control).toMatch(/another word, “farm”, becomes “station” instead/);
  await page
    .locator(".own-text", { hasText: /Tom sang: “Wind fire$/ })
    .first()
    .waitFor();
  await page.waitForFunction(() => decodeURIComponent(location.hash).includes("Wind+fire"));
});

test("what of a text the model does not know is said beside it, and a text without a repetition is told so", async () => {
  const copying = page.getByRole("group", { name: "Switch off the heads that copy" });
  await copying.getByLabel("Text").fill("Kate and Zoltan lived near the");
  expect(await copying.getByRole("status").textContent()).toMatch(/does not know the word “Zoltan”/);
  await copying.getByRole("button").click();
  await page.getByText(/The text does not have that word, so no head can look at it/).waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await lab.axe(page)).toEqual([]);
});

test("an experiment ends what is being written, and sums have none", async () => {
  await leave(page, lab.url);
  await page.goto(`${lab.url}#/generate`);
  await lab.ready("generate", page);
  await lab.unfold(page);
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await page.getByRole("button", { name: "Swap one word" }).click();
  await page.locator(".own-text", { hasText: /Leo sang: “Sun star$/ }).waitFor();
  await page.getByRole("button", { name: "Write", exact: true }).waitFor(); // not "Stop"
  await page.getByText("sums", { exact: true }).click();
  await page.locator(".own-text", { hasText: "123+456=" }).waitFor();
  expect(await page.locator(".experiments").isVisible()).toBe(false);
});

test("what is asked of the stories while the sums are loaded fails in no words of the program", async () => {
  const late = await lab.open();
  await late.goto(`${lab.url}#/generate`);
  await lab.ready("generate", late);
  await lab.unfold(late);
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await late.route("**/decoders/sums.safetensors", async (route) => {
    await held;
    await route.continue();
  });
  await late.getByLabel("sums").click();
  await late.getByRole("button", { name: "Ask all heads" }).click();
  release();
  await late.locator(".own-text:not(.twin)", { hasText: /^[\d+=]+$/ }).waitFor();
  await lab.ready("generate", late);
  expect(await late.locator(".failure:visible").count()).toBe(0);
  await late.close();
});
