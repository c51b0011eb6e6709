import { describe, expect, test } from "@jest/globals";

import { COLOURS, LabPage, ROOMS } from "./labPage.js";

const lab = new LabPage();

/** What the engine needs: its worker, its wasm, and the model. */
const ENGINE = /worker-[\w-]+\.js|\.wasm$|\/model\//;

test.each(ROOMS)("the room %s has nothing that axe complains of before anything is computed", async (room) => {
  const page = await lab.open();
  await page.route(ENGINE, () => {}); // never answered
  await page.goto(`${lab.url}#/${room}`);
  await page.waitForSelector("article .tools button");
  const seen = [];
  for (const [colorScheme, rules] of [
    ["light", undefined],
    ["dark", COLOURS],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" }); // colours change at once
    seen.push(await lab.axe(page, rules));
  }
  expect(seen).toEqual([[], []]);
  await page.close();
});

test.each([
  ["", { picture: true, bar: true }],
  ["#/lesson", { picture: true, bar: true }],
  ["#/sentence", { picture: false, bar: true }],
  ["#/masks", { picture: false, bar: true }],
  ["#/lesson?text=Hello", { picture: false, bar: true }],
  ["?embed#/masks", { picture: false, bar: false }],
  ["?embed#/lesson", { picture: true, bar: false }],
])("before any script of the lab runs, the page of %p shows nothing that is not of it", async (place, seen) => {
  const page = await lab.open();
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/assets/*.js", async (route) => {
    await released;
    await route.continue();
  });
  await page.goto(lab.url + place, { waitUntil: "commit" });
  await page.locator(".scene-diagram").waitFor({ state: "attached" });
  await page.waitForFunction(() => [...document.styleSheets].some(({ href }) => href));
  const isVisible = (selector: string) => page.locator(selector).isVisible();
  expect({ picture: await isVisible(".scene-diagram"), bar: await isVisible("#bar") }).toEqual(seen);
  release();
  await lab.ready(/masks|sentence/.exec(place)?.[0] ?? "lesson", page);
  await page.close();
});

test("a room that is not loaded yet shows its title and what it is about", async () => {
  const page = await lab.open();
  let proceed = () => {};
  const held = new Promise<void>((resolve) => (proceed = resolve));
  await page.route(/assets\/room-.*\.js/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${lab.url}#/masks`);
  await page.getByRole("heading", { name: "Masks", level: 1 }).waitFor();
  expect(await lab.axe(page)).toEqual([]);
  proceed();
  await lab.ready("masks", page);
  await page.close();
});

describe("what could not be loaded is named with the reason, and can be tried again:", () => {
  const cases: readonly (readonly [what: string, file: RegExp, place: string, said: RegExp])[] = [
    ["the engine's worker", /worker-[\w-]+\.js/, "masks", /worker-[\w-]+\.js could not be loaded: the server/],
    ["the wasm", /\.wasm$/, "masks", /\.wasm/],
    ["a room's code", /assets\/room-.*\.js/, "masks", /the code of this room could not be loaded \(.+room-.+\.js/],
    ["the model", /\/model\//, "sentence?texts=A+park.", /model.*status 503|model’s file .* 503/],
  ];
  test.each(cases)("%s", async (_, file, place, said) => {
    const page = await lab.browser.newPage();
    await page.route(file, (route) => route.fulfill({ status: 503, body: "" }));
    await page.goto(`${lab.url}#/${place}`);
    const failure = page.getByRole("alert");
    await failure.getByText("This did not work").waitFor();
    const words = await failure.locator("p").textContent();
    expect(words).toMatch(said);
    expect(words).not.toMatch(/\.\.|Failed to fetch\.$/);
    expect(await lab.axe(page)).toEqual([]);
    await page.unroute(file);
    await failure.getByRole("button", { name: "Try again" }).click();
    await lab.ready(place.split("?")[0]!, page);
    await page.waitForSelector("article .card");
    expect(await page.locator(".failure:visible").count()).toBe(0);
    await page.close();
  });
});

test("a server that does not answer is told from a missing file, and trying in vain is said again", async () => {
  const page = await lab.browser.newPage();
  await page.route(/worker-[\w-]+\.js/, (route) => route.abort());
  await page.goto(`${lab.url}#/masks`);
  const failure = page.getByRole("alert");
  await failure.getByText("the server does not answer").waitFor();
  await failure.getByRole("button", { name: "Try again" }).click();
  await failure.getByText("the server does not answer").waitFor();
  await page.unroute(/worker-[\w-]+\.js/);
  await page.getByLabel("Queries", { exact: true }).press("ArrowLeft"); // a change tries again, too
  await lab.ready("masks", page);
  await failure.waitFor({ state: "hidden" });
  await page.close();
});
