// "Share this figure": the address, and files that show what the page shows, with its title and address.

import { readFile } from "node:fs/promises";

import { describe, expect, test } from "@jest/globals";
import { decode, decodeFrames } from "modern-gif";

import { LabPage, ROOMS } from "./labPage.js";

const lab = new LabPage();

/** Presses a button of the dialog, and returns the file that comes. */
async function saved(name: string | RegExp): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([
    lab.page.waitForEvent("download"),
    lab.page.getByRole("dialog").getByRole("button", { name }).click(),
  ]);
  const bytes = await readFile(await download.path());
  await lab.page.getByRole("dialog").getByText("Saved.").waitFor();
  return { name: download.suggestedFilename(), bytes };
}

const shareButton = () => lab.page.getByRole("button", { name: "Share this figure" });
const openShare = () => shareButton().click();
const closeShare = () => lab.page.getByRole("dialog").getByRole("button", { name: "Close" }).click();

/** The mean brightness of each of 12 × 12 fields of a part of a picture, in CSS pixels of the page. */
function fieldsOf(picture: Buffer, type: string, part: { x: number; y: number; width: number; height: number }) {
  return lab.page.evaluate(
    async ({ source, x, y, width, height }) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: 12, height: 12 });
      const context = canvas.getContext("2d")!;
      context.imageSmoothingQuality = "high";
      context.drawImage(image, x, y, width, height, 0, 0, 12, 12);
      const { data } = context.getImageData(0, 0, 12, 12);
      return Array.from({ length: 144 }, (_, at) => (data[4 * at]! + data[4 * at + 1]! + data[4 * at + 2]!) / 3);
    },
    { source: `data:${type};base64,${picture.toString("base64")}`, ...part },
  );
}

test("a picture shows the figure as the page does, with its title and address", async () => {
  await lab.enter("sentence?texts=The+cat+sat.");
  const card = lab.page.locator(".stage .card").first();
  await openShare();
  const address = await lab.page.evaluate(() => location.href);
  expect(await lab.page.getByRole("dialog").getByRole("textbox").inputValue()).toBe(address);
  expect(await lab.axe()).toEqual([]);
  const png = await saved("Save as PNG");
  const svg = await saved("Save as SVG");
  await closeShare();
  expect(png.name).toMatch(/^Sentence .+\.png$/);
  const text = svg.bytes.toString();
  expect(text).toContain(`>${address.replaceAll("&", "&amp;")}</text>`);
  expect(text).toMatch(/<title>Sentence: .+<\/title>/);
  const { width, height } = (await card.boundingBox())!;
  const shown = await fieldsOf(await card.screenshot(), "image/png", { x: 0, y: 0, width, height });
  const place = { x: 2 * 24, y: 2 * (2 * 24 + 20), width: 2 * width, height: 2 * height };
  const drawn = await fieldsOf(png.bytes, "image/png", place);
  expect(Math.max(...shown) - Math.min(...shown)).toBeGreaterThan(20); // the figure is not empty
  const apart = shown.map((field, at) => Math.abs(field - drawn[at]!));
  expect(apart.reduce((sum, each) => sum + each, 0) / apart.length).toBeLessThan(4);
});

test.each([
  ["sentence?texts=The+cat+sat.", /Point at a number/],
  ["masks", /Point at a cell/],
])("a picture of the room %s does not say what to do", async (place, hint) => {
  await lab.enter(place);
  const card = lab.page.locator(".stage .card").filter({ visible: true }).first();
  expect(await card.getByText(hint).count()).toBe(1);
  await openShare();
  const svg = await saved("Save as SVG");
  await closeShare();
  expect(svg.bytes.toString()).not.toMatch(hint);
});

test.each([
  ["sentence", "Eight heads, three habits", /one back: layer/, "layer 1 head 1"],
  ["sentence", "What if …", /Undo all changes/, "×1.0"],
  ["flash", "The score matrix, tile by tile", />(First|Back|Play|Next|Last)</, "skipped"],
  ["tensors?mode=attention", "Result", /Save example/, "numbers from"],
  ["tensors", "The tokens", />Reset</, ">h<"],
  ["lesson?scene=4", "4 · Values mix", /If one weight were|The mean of all values/, "Each word also has a value"],
])("a picture of the room %s, %s, has no controls", async (place, name, controls, content) => {
  await lab.enter(place);
  await openShare();
  await lab.page.getByRole("dialog").getByRole("combobox").selectOption({ label: name });
  const svg = (await saved("Save as SVG")).bytes.toString();
  await closeShare();
  expect(svg.includes(content)).toBe(true);
  expect(controls.exec(svg)?.[0]).toBeUndefined();
});

test("a picture of a card is as wide as all that scrolls in it", async () => {
  await lab.page.setViewportSize({ width: 820, height: 1180 });
  await lab.enter("matrix");
  const card = lab.page.locator(".stage .card.diagram");
  const hidden = () => card.locator(".scroll").evaluateAll((parts) => Math.max(...parts.map((part) => part.scrollWidth - part.clientWidth))); // oxfmt-ignore
  const width = () => card.evaluate((node) => node.getBoundingClientRect().width);
  const before = await width();
  expect(await hidden()).toBeGreaterThan(100);
  await openShare();
  await lab.page.getByRole("dialog").getByRole("combobox").selectOption({ label: "From X to the output" });
  const svg = (await saved("Save as SVG")).bytes.toString();
  await closeShare();
  expect(await width()).toBe(before);
  const page = await lab.browser.newPage({ viewport: { width: 2000, height: 2000 } });
  await page.setContent(svg);
  const { edge, cells } = await page.evaluate(() => ({
    edge: document.querySelector("foreignObject")!.getBoundingClientRect().right,
    cells: [...document.querySelectorAll("td")].map((cell) => cell.getBoundingClientRect().right),
  }));
  expect(cells.length).toBeGreaterThan(100);
  expect(Math.max(...cells)).toBeLessThan(edge);
  await page.close();
  await lab.page.setViewportSize({ width: 1280, height: 900 });
});

test("no picture is offered of a card that has only controls", async () => {
  await lab.enter("tensors?mode=attention");
  await openShare();
  const dialog = lab.page.getByRole("dialog");
  const pictures = dialog.getByRole("button", { name: /^Save as (PNG|SVG)$/ });
  await dialog.waitFor();
  expect(await pictures.count()).toBe(2);
  await dialog.getByRole("combobox").selectOption({ label: "Which tensor is what" });
  expect(await pictures.count()).toBe(0);
  await dialog.getByRole("combobox").selectOption({ label: "Result" });
  expect(await pictures.count()).toBe(2);
  await closeShare();
});

test("a picture of all heads has no bars, which would hide their names", async () => {
  await lab.enter("tensors");
  await openShare();
  await lab.page.getByRole("dialog").getByRole("combobox").selectOption({ label: "Every head of every layer" });
  const svg = (await saved("Save as SVG")).bytes.toString();
  await closeShare();
  const page = await lab.browser.newPage();
  await page.setContent(svg);
  expect(await page.locator(".head-grid").evaluate((grid) => getComputedStyle(grid).overflow)).toBe("hidden");
  await page.close();
});

test("a picture has its title in the page's font, also above texts of a chart", async () => {
  await lab.enter("device");
  await openShare();
  const svg = await saved("Save as SVG");
  await closeShare();
  const page = await lab.browser.newPage();
  await page.setContent(svg.bytes.toString());
  const font = await page
    .locator("body > svg > text")
    .first()
    .evaluate((text) => getComputedStyle(text).font);
  await page.close();
  expect(font).toBe("20px Inter, system-ui, sans-serif");
});

describe.each(["light", "dark"] as const)("a scene of the lesson, in %s,", (colorScheme) => {
  test.each([
    { width: 1366, height: 768, by: "the mouse" },
    { width: 390, height: 844, by: "the keyboard" },
  ])("is shared where it stands, at $width × $height, by $by", async ({ width, height, by }) => {
    await lab.page.setViewportSize({ width, height });
    await lab.page.emulateMedia({ colorScheme });
    await lab.enter("lesson?scene=4");
    const title = lab.page.locator(".pane h2");
    expect(await title.textContent()).toBe("Values mix");
    const isInSight = await shareButton().evaluate((node) => {
      const { x, y, width: wide, height: high } = node.getBoundingClientRect();
      return document.elementFromPoint(x + wide / 2, y + high / 2)?.closest("button") === node;
    });
    expect(isInSight).toBe(true);
    if (by === "the mouse") await openShare();
    else {
      await lab.page.locator(".scene-bar [data-scene='7']").focus();
      await lab.page.keyboard.press("Tab");
      await lab.page.keyboard.press("Enter");
    }
    const address = await lab.page.getByRole("dialog").getByRole("textbox").inputValue();
    expect(address).toMatch(/#\/lesson\?scene=4$/);
    expect(await lab.axe()).toEqual([]);
    const svg = await saved("Save as SVG");
    expect(svg.bytes.toString()).toContain("Values mix");
    expect(svg.bytes.toString()).not.toContain(">Share this figure<");
    expect(svg.bytes.toString()).toContain(`>${address}</text>`);
    await closeShare();
    await lab.frames();
    expect(await title.textContent()).toBe("Values mix");
    expect(await lab.page.evaluate(() => location.hash)).toBe("#/lesson?scene=4");
    await lab.page.emulateMedia({ colorScheme: null });
  });
});

/** The film of the lesson. The room shows afterwards what it showed before. */
async function lessonFilm() {
  await lab.page.setViewportSize({ width: 390, height: 844 }); // a small film has all of it
  await lab.enter("lesson");
  await openShare();
  const before = await lab.page.evaluate(() => location.hash);
  const { name, bytes } = await saved(/as a film/);
  await closeShare();
  expect(name).toMatch(/\.gif$/);
  await lab.page.waitForFunction((shown) => location.hash === shown, before); // written a moment later
  await lab.page.setViewportSize({ width: 1280, height: 900 });
  return Uint8Array.from(bytes);
}

const REST = 3000;

test("the lesson is a film of its seven scenes, which goes round; what travels in a scene is drawn on its way", async () => {
  const bytes = await lessonFilm();
  const gif = decode(bytes);
  const rests = gif.frames.flatMap(({ delay }, at) => (delay >= REST ? [at] : []));
  expect(gif.looped).toBe(true);
  expect(rests).toHaveLength(7);
  expect(rests.at(-1)).toBe(gif.frames.length - 1);
  const [first, second] = rests as [number, number];
  expect(second - first).toBeGreaterThan(4); // from the first scene to the second numbers travel
  const pictures = decodeFrames(bytes).slice(first, second + 1);
  expect(new Set(pictures.map(({ data }) => Buffer.from(data.buffer).toString("base64"))).size).toBeGreaterThan(4);
});

test("with reduced motion the film of the lesson has a picture of each scene only", async () => {
  await lab.page.emulateMedia({ reducedMotion: "reduce" });
  expect(decode(await lessonFilm()).frames).toHaveLength(7);
  await lab.page.emulateMedia({ reducedMotion: null });
});

test("a training is a film of its checkpoints", async () => {
  await lab.page.emulateMedia({ reducedMotion: "reduce" }); // it does not begin by itself
  await lab.enter("train");
  await openShare();
  expect(await lab.page.getByRole("dialog").getByRole("button", { name: /film/ }).count()).toBe(0);
  await closeShare();
  for (let step = 1; step <= 3; ++step) {
    await lab.page.getByRole("button", { name: "One step" }).click();
    await lab.page.getByText(new RegExp(`^step ${step} ·`)).waitFor();
  }
  await openShare();
  const { bytes } = await saved("Save the training as a film (GIF)");
  await closeShare();
  const gif = decode(Uint8Array.from(bytes));
  expect(gif.frames.length).toBeGreaterThanOrEqual(2);
  expect(new Set(gif.frames.map((frame) => frame.delay)).size).toBe(2); // the last picture stays longer
  await lab.page.emulateMedia({ reducedMotion: null });
});

test("a film ends after a training that went on under the dialog: a step that is no longer kept gives way to the one before", async () => {
  await lab.page.emulateMedia({ reducedMotion: "reduce" });
  await lab.enter("train?seed=3");
  for (let step = 1; step <= 2; ++step) {
    await lab.page.getByRole("button", { name: "One step" }).click();
    await lab.page.getByText(`step ${step}`, { exact: true }).waitFor(); // the last of the checkpoints
  }
  await lab.page.evaluate(() => {
    const press = (name: string) =>
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!.click();
    press("Train");
    press("Share this figure");
  });
  await lab.page.getByText(/^step ([3-9]|[\d,]{2,}) ·/).waitFor();
  const { bytes } = await saved("Save the training as a film (GIF)");
  await closeShare();
  expect(decode(Uint8Array.from(bytes)).frames).toHaveLength(2);
  await lab.page.emulateMedia({ reducedMotion: null });
});

test("the list of figures tells the room from its cards, and a heading from what stands small beside it", async () => {
  await lab.enter("sentence?texts=The+cat+sat.");
  await openShare();
  const list = lab.page.getByRole("dialog").getByRole("combobox");
  const parts = await list.evaluate((node) => [...node.children].slice(0, 3).map(({ tagName }) => tagName));
  expect(parts).toEqual(["OPTION", "HR", "OPTION"]);
  expect((await list.locator("option").allTextContents())[1]).toBe(
    "What each word looks at, in percent · layer 1 head 1",
  );
  await closeShare();
});

describe("the button of a card", () => {
  const dialog = () => lab.page.getByRole("dialog");
  const address = () => dialog().getByLabel("Its address, with all settings").inputValue();
  const chosen = () => dialog().getByLabel("What to show").locator("option:checked").textContent();

  test.each(ROOMS.filter((room) => room !== "lesson"))(
    "is on every card of the room %s, is called as its heading, and is not printed",
    async (room) => {
      await lab.walk(room);
      const cards = lab.page.locator(".stage .card").filter({ visible: true });
      expect(await cards.count()).toBeGreaterThan(0);
      for (const card of await cards.all()) {
        const heading = await card.locator("h2").first().textContent();
        const share = card.getByRole("button", { name: `Share ${heading!.replace(/\s+/g, " ").trim()}`, exact: true });
        expect([heading, await share.count()]).toEqual([heading, 1]);
      }
      await lab.page.emulateMedia({ media: "print" });
      expect(await lab.page.locator(".share-card").filter({ visible: true }).count()).toBe(0);
      await lab.page.emulateMedia({ media: null });
    },
  );

  test.each([
    ["sentence?texts=The+cat+sat.", "What each word looks at, in percent", "&card=1"],
    ["matrix?dim=16", "Why 1/√D", "&card=5"],
    ["masks", "What need not be computed", "?card=2"],
  ])(
    "in the room %s shares “%s”, by the keyboard too; who opens the address comes to it",
    async (place, title, card) => {
      lab.staysFolded = true;
      await lab.enter(place);
      const before = await lab.page.evaluate(() => location.href);
      const heading = lab.page.locator(".stage .card h2", { hasText: title });
      await heading.evaluate((node) => ((node.closest("details") ?? { open: true }).open = true));
      const share = lab.page.getByRole("button", { name: `Share ${title}` });
      await share.click({ trial: true }); // nothing lies over it
      await share.press("Enter");
      await dialog().waitFor();
      expect(await chosen()).toContain(title);
      expect(await address()).toBe(`${before}${card}`);
      expect(await lab.axe()).toEqual([]);
      expect((await saved("Save as SVG")).bytes.toString()).toContain(`>${`${before}${card}`.replaceAll("&", "&amp;")}</text>`); // oxfmt-ignore
      const given = await address();
      await lab.page.keyboard.press("Escape");
      await dialog().waitFor({ state: "detached" });
      expect(await share.evaluate((node) => node === document.activeElement)).toBe(true);
      expect(await lab.page.evaluate(() => location.href)).toBe(before);

      const other = await lab.browser.newContext({ viewport: { width: 390, height: 844 } }).then((it) => it.newPage());
      await other.goto(given);
      await lab.ready(place.split("?")[0]!, other);
      await other.waitForFunction((words) => document.activeElement?.textContent.includes(words), title);
      await lab.frames(other);
      const there = await other.locator(".stage .card", { has: other.locator("h2", { hasText: title }) }).evaluate((node) => ({
      isOpen: node.tagName !== "DETAILS" || (node as HTMLDetailsElement).open,
      hasFocus: node.contains(document.activeElement),
      top: node.getBoundingClientRect().top / innerHeight,
      hash: location.href,
    })); // oxfmt-ignore
      expect(there).toMatchObject({ isOpen: true, hasFocus: true });
      expect(there.hash.endsWith(card)).toBe(true); // the steps of a phone are a setting, too
      expect(there.top).toBeGreaterThanOrEqual(0);
      expect(there.top).toBeLessThan(0.75);
      await other.context().close();
      lab.staysFolded = false;
    },
  );

  test("that is chosen in the list is named by the address too, and the room by none", async () => {
    await lab.enter("masks?left=5");
    await shareButton().click();
    const list = dialog().getByLabel("What to show");
    expect(await address()).toMatch(/#\/masks\?left=5$/);
    await list.selectOption("What need not be computed");
    expect(await address()).toMatch(/#\/masks\?left=5&card=2$/);
    await list.selectOption("The whole room");
    expect(await address()).toMatch(/#\/masks\?left=5$/);
    await closeShare();
  });

  test("leads there once: a visitor who has gone on, and comes back, finds the page as it was", async () => {
    await lab.enter("masks?card=2");
    await lab.page.waitForFunction(() => document.activeElement?.textContent === "What need not be computed");
    await lab.page.mouse.wheel(0, -5000);
    await lab.page.waitForFunction(() => scrollY === 0);
    await lab.page.getByRole("link", { name: "Train" }).click();
    await lab.ready("train");
    expect(await lab.page.evaluate(() => location.hash)).not.toContain("card=");
    await lab.page.goBack();
    await lab.ready("masks");
    await lab.frames();
    expect(await lab.page.evaluate(() => [scrollY, location.hash])).toEqual([0, "#/masks?card=2"]);
  });
});

test("a second press opens no second dialog", async () => {
  await lab.enter("masks");
  await lab.page.evaluate(() => {
    for (const name of ["Share this figure", "Lectures", "Share this figure"])
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!.click();
  });
  await lab.page.getByRole("dialog").waitFor();
  await lab.frames(lab.page);
  expect(await lab.page.locator("dialog").count()).toBe(1);
  await lab.page.keyboard.press("Escape");
  await lab.page.locator("dialog").waitFor({ state: "detached" });
});
