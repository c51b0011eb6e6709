import { expect, test } from "@jest/globals";
import type { Page, Route } from "playwright-core";

import { LabPage } from "./labPage.js";

const lab = new LabPage();

/** Clicks a room's link in the navigation, or beside the open room. */
async function go(page: Page, title: string, room: string) {
  const nav = page.getByRole("navigation", { name: title === "Flash" ? "Beside this room" : "Rooms" });
  await nav.getByRole("link", { name: title, exact: true }).click();
  await lab.ready(room, page);
}

const openRoom = (page: Page) => page.evaluate(() => document.querySelector("[data-room]")?.getAttribute("data-room"));

async function visit(place: string): Promise<Page> {
  const page = await lab.open();
  await lab.enter(place, page);
  return page;
}

test("back and forward go from room to room, with what was set there, and setting adds no step", async () => {
  const page = await visit("masks");
  await go(page, "Flash", "flash");
  const entries = await page.evaluate(() => history.length);
  await page.getByLabel("Tokens", { exact: true }).press("ArrowRight");
  await page.getByLabel("Causal").uncheck();
  await page.waitForFunction(() => location.hash === "#/flash?length=17&causal=false");
  expect(await page.evaluate(() => history.length)).toBe(entries);
  await go(page, "Matrix", "matrix");
  await page.goBack();
  await lab.ready("flash", page);
  expect(await page.evaluate(() => location.hash)).toBe("#/flash?length=17&causal=false");
  expect(await page.getByLabel("Tokens", { exact: true }).inputValue()).toBe("17");
  await page.goBack();
  await lab.ready("masks", page);
  await page.goForward();
  await page.goForward();
  await lab.ready("matrix", page);
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
  await page.close();
});

test("a room entered by its plain link has what was set there last, and the address shows it", async () => {
  const page = await visit("positions");
  await page.locator("[data-field=words]").fill("two parks, two benches");
  await page.locator("[data-field=kind][value=rotary]").check({ force: true });
  await go(page, "Masks", "masks");
  await page.locator("[data-field=causal][value=off]").check({ force: true });
  await go(page, "Positions", "positions");
  expect(await page.locator("[data-field=words]").inputValue()).toBe("two parks, two benches");
  expect(await page.evaluate(() => location.hash)).toMatch(
    /^#\/positions\?words=two\+parks%2C\+two\+benches&kind=rotary/,
  );
  await page.locator("a.next[href='#/masks']").waitFor();
  await go(page, "Matrix", "matrix");
  await page.evaluate(() => (location.hash = "#/masks"));
  await page.waitForFunction(() => location.hash === "#/masks?causal=off");
  await lab.ready("masks", page);
  await page.getByRole("button", { name: "Reset", exact: true }).click();
  await page.waitForFunction(() => location.hash === "#/masks");
  await page.close();
});

test("the choice of an engine goes with the visitor from room to room", async () => {
  const page = await visit("masks?backend=wasm&threads=1");
  await go(page, "Flash", "flash");
  expect(await page.evaluate(() => location.hash)).toBe("#/flash?backend=wasm&threads=1");
  await page.waitForSelector("#engine >> text=1 thread");
  await page.close();
});

test("a link to the open room leads nowhere", async () => {
  const page = await visit("masks");
  const entries = await page.evaluate(() => history.length);
  await go(page, "Masks", "masks");
  expect(await page.evaluate(() => history.length)).toBe(entries);
  await page.close();
});

test("an unknown room is named, and the first one opens", async () => {
  const page = await lab.open();
  await page.goto(`${lab.url}#/cellar?wine=red`);
  await lab.ready("lesson", page);
  await page.getByText("There is no room “cellar”. This is the first one: Lesson.").waitFor();
  expect(await page.evaluate(() => location.hash)).toBe("#/lesson");
  await go(page, "Masks", "masks");
  expect(await page.getByText("There is no room").count()).toBe(0);
  await page.close();
});

test("a card that a room does not have is named, until the visitor goes on", async () => {
  const page = await visit("masks?card=99");
  await page.getByText("This room has no card 99.").waitFor();
  await go(page, "Train", "train");
  expect(await page.getByText("This room has no card").count()).toBe(0);
  await page.evaluate(() => (location.hash = "#/masks?card=2"));
  await lab.ready("masks", page);
  await page.waitForFunction(() => document.activeElement?.textContent === "What need not be computed");
  expect(await page.getByText("This room has no card").count()).toBe(0);
  await page.close();
});

test("back returns to the height at which a room was left, and a new room opens at its top", async () => {
  const page = await visit("masks");
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  const height = await page.evaluate(() => scrollY);
  expect(height).toBeGreaterThan(100);
  await page.locator("a.next").click();
  await lab.ready("flash", page);
  expect(await page.evaluate(() => scrollY)).toBe(0);
  await page.goBack();
  await lab.ready("masks", page);
  await page.waitForFunction((wanted) => Math.abs(scrollY - wanted) <= 2, height);
  await page.waitForFunction((wanted) => Math.abs((history.state as { height: number }).height - wanted) <= 2, height);
  await page.reload();
  await lab.ready("masks", page);
  await page.waitForFunction((wanted) => Math.abs(scrollY - wanted) <= 2, height);
  await page.close();
});

test.each([
  ["positions", 600],
  ["matrix", 1200],
  ["generate", 900],
])(
  "back to the room %s shows what was left, also if the room grows after that height is reached",
  async (room, height) => {
    const page = await visit(room);
    await page.evaluate((top) => scrollTo(0, top), height);
    const before = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.waitForFunction((wanted) => (history.state as { height: number }).height === wanted, height);
    await page.evaluate(() => (location.hash = "#/tensors"));
    await lab.ready("tensors", page);
    await page.goBack();
    await lab.ready(room, page);
    await page.waitForFunction((whole) => document.documentElement.scrollHeight === whole, before);
    await lab.frames(page);
    expect(await page.evaluate(() => scrollY)).toBe(height);
    await page.close();
  },
);

test("back keeps its height while the room grows above, until the visitor does something", async () => {
  const page = await visit("masks");
  await page.evaluate(() => scrollTo(0, 300));
  await page.waitForFunction(() => (history.state as { height: number }).height === 300);
  await page.evaluate(() => (location.hash = "#/tensors"));
  await lab.ready("tensors", page);
  await page.goBack();
  await lab.ready("masks", page);
  await page.waitForFunction(() => scrollY === 300);
  const grow = () =>
    page.evaluate(async () => {
      const part = document.createElement("div");
      part.style.height = "200px";
      document.querySelector(".stage")!.prepend(part);
      for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
      return scrollY;
    });
  expect(await grow()).toBe(300);
  await page.keyboard.press("Shift");
  expect(await grow()).toBeGreaterThan(450); // the browser keeps what the visitor reads in its place
  await page.close();
});

test("4,000 lines of text survive another room and a reload, and the address stays short", async () => {
  const page = await lab.browser.newPage();
  await page.route(/\/model\//, (route) => route.abort()); // the address is meant, not the model's patience
  const text = Array.from({ length: 4000 }, (_, line) => `Line ${line}: a park.`).join("\n");
  await page.goto(`${lab.url}#/sentence?${new URLSearchParams({ texts: text }).toString()}`);
  const area = page.locator("[data-field=texts]");
  const isWhole = async () => expect((await area.inputValue()).length).toBe(text.length);
  await isWhole();
  await page.getByText("Too long for the address: texts.").waitFor();
  expect(await page.evaluate(() => location.hash.length)).toBeLessThan(40_000);
  await go(page, "Masks", "masks");
  await go(page, "Sentence", "sentence");
  await isWhole();
  await page.goBack();
  await page.goBack();
  await page.waitForSelector("[data-room=sentence]");
  await isWhole();
  await page.reload();
  await isWhole();
  await area.fill("A park.");
  await page.waitForFunction(() => location.hash === "#/sentence?texts=A+park.");
  expect(await openRoom(page)).toBe("sentence");
  await page.close();
});

test("a room that was left stays away when its work fails afterwards", async () => {
  const page = await lab.browser.newPage();
  const held: Route[] = [];
  await page.route(/\/model\//, (route) => void held.push(route));
  const asked = page.waitForRequest(/\/model\//);
  await page.goto(`${lab.url}#/sentence?texts=A+park.`);
  await asked;
  await go(page, "Masks", "masks");
  await page.waitForSelector("#busy", { state: "visible" }); // the first room's call still waits
  for (const route of held) await route.abort();
  await page.waitForSelector("#busy", { state: "hidden" });
  await page.evaluate(() => new Promise(requestAnimationFrame));
  expect(await openRoom(page)).toBe("masks");
  await page.close();
});

test("a slider that moves for long does not exhaust the browser's patience with the address", async () => {
  const page = await visit("flash");
  const refused = await page.evaluate(async () => {
    let calls = 0;
    const replace = history.replaceState.bind(history);
    history.replaceState = (...given) => {
      ++calls;
      replace(...given);
    };
    const slider = document.querySelector<HTMLInputElement>("[data-field=length]")!;
    for (let move = 0; move < 300; move++) {
      slider.value = String(4 + (move % 40));
      slider.dispatchEvent(new Event("input"));
      if (move % 10 === 0) await new Promise(requestAnimationFrame);
    }
    return calls > 60;
  });
  expect(refused).toBe(false);
  await page.waitForFunction(() => location.hash === "#/flash?length=23");
  await page.close();
});
