// Figures of the lab in other pages. The lab and the pages have different origins. The lab stands in a folder of its
// host, which lets every origin read its files and sends no headers that isolate.

import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Frame, Page } from "playwright-core";

import { listings } from "../../package/listings.js";
import { ISOLATION, serveFolder } from "../staticServer.js";
import { LabPage, ROOMS } from "./labPage.js";

type Server = Awaited<ReturnType<typeof serveFolder>>;

const lab = new LabPage();
const DRAWN = "[data-room=masks][aria-busy=false]";

let folder: string;
let site: Server;
let plainHost: Server;
let isolatedHost: Server;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "headwise-host-"));
  const server = await serveFolder(fileURLToPath(new URL("../../../dist-demo/", import.meta.url)), {
    "Access-Control-Allow-Origin": "*",
  });
  site = { ...server, url: `${server.url}page/` };
  plainHost = await serveFolder(folder, {});
  isolatedHost = await serveFolder(folder, ISOLATION);
});
afterAll(async () => {
  for (const server of [site, plainHost, isolatedHost]) server.stop();
  await rm(folder, { recursive: true });
});

const script = () => `<script type="module" src="${site.url}embed.js"></script>`;
const figure = (attributes = "", content = "<p>In place of the figure</p>") =>
  `<headwise-figure room="masks" ${attributes}>${content}</headwise-figure>`;
const frame = (address: string, attributes = "") =>
  `<iframe title="figure" width="800" height="600" ${attributes} src="${site.url}${address}"></iframe>`;
/** Keeps every message that the page gets. */
const EARS = `<script>heard = []; addEventListener("message", ({ origin, data }) => heard.push({ origin, data }))</script>`;

interface Visit {
  readonly host?: Server;
  /** Before the page is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** Opens a page with this content. */
async function visit(body: string, { host = plainHost, prepare }: Visit = {}): Promise<Page> {
  await writeFile(
    path.join(folder, "index.html"),
    `<!doctype html><html lang="en"><meta charset="utf-8" /><title>A page</title>
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    ${EARS}<body><main><h1>A page</h1>${body}</main>`,
  );
  const page = await lab.browser.newPage({ viewport: { width: 900, height: 700 } });
  await prepare?.(page);
  await page.goto(host.url);
  return page;
}

/** The frames of the page, in their order, as soon as there are so many. */
async function framesOf(page: Page, count = 1): Promise<Frame[]> {
  const elements = page.locator("iframe");
  await elements.nth(count - 1).waitFor({ state: "attached" });
  return Promise.all((await elements.elementHandles()).map(async (element) => (await element.contentFrame())!));
}

/** The same, each with its figure drawn. */
async function drawn(page: Page, count = 1): Promise<Frame[]> {
  const figures = await framesOf(page, count);
  for (const each of figures) await each.waitForSelector(DRAWN);
  return figures;
}

/** The frame of the page's element, when the element shows it. */
async function shown(page: Page): Promise<Frame> {
  await page.waitForSelector("headwise-figure iframe.drawn");
  return (await drawn(page))[0]!;
}

const heard = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { heard: { origin: string; data: object }[] }).heard);

describe("the page with ?embed", () => {
  test("shows a room's title, finding and stage, and a link with the settings; and nothing else", async () => {
    const page = await visit(frame("?embed#/masks?left=5"));
    const [figure] = await drawn(page);
    const visible = (selector: string) => figure!.locator(selector).filter({ visible: true }).count();
    for (const selector of ["h1", ".stage", "attention-map", "#figure-credit a"])
      expect([selector, await visible(selector)]).toEqual([selector, 1]);
    for (const selector of ["#bar", "#skip", ".lede", ".next", ".room > footer", "dialog"])
      expect([selector, await visible(selector)]).toEqual([selector, 0]);
    expect(await figure!.locator("[data-field=left]").inputValue()).toBe("5");
    await page.close();
  });

  test.each(["masks", "positions", "matrix"])(
    "shows one card of the room %s alone, wherever it stands",
    async (room) => {
      await lab.enter(room);
      const count = await lab.page.locator(".stage .card").count();
      for (const chosen of [1, 2, count]) {
        const page = await visit(frame(`?embed&card=${chosen}#/${room}`));
        const [figure] = await framesOf(page);
        await figure!.waitForSelector(`[data-room=${room}][aria-busy=false]`);
        const seen = await figure!.evaluate(() => {
          const isVisible = (node: Element) => node.checkVisibility();
          const outside = [...document.querySelectorAll("h1, .main-finding, .panel")].filter((node) => !node.closest(".card")); // oxfmt-ignore
          const cards = [...document.querySelectorAll(".stage .card")];
          return { cards: cards.map(isVisible), outside: outside.filter(isVisible).length };
        });
        const cards = Array.from({ length: count }, (_, index) => index === chosen - 1);
        expect([room, chosen, seen]).toEqual([room, chosen, { cards, outside: 0 }]);
        const card = figure!.locator(".stage .card").nth(chosen - 1);
        expect((await card.boundingBox())!.width).toBeGreaterThan(700); // of 800
        await page.close();
      }
    },
  );

  test("shows the whole room if it has no such card", async () => {
    const page = await visit(frame("?embed&card=99#/masks"));
    const [figure] = await drawn(page);
    expect(await figure!.locator("h1").isVisible()).toBe(true);
    await page.close();
  });

  test("keeps what a visitor sets to itself, and links to the lab with it", async () => {
    const page = await visit(frame("?embed#/masks?left=5"));
    const [figure] = await drawn(page);
    const before = await page.evaluate(() => [location.href, history.length]);
    await figure!.locator("[data-field=left]").press("ArrowLeft");
    await figure!.waitForSelector('#figure-credit a[href$="#/masks?left=4"]');
    expect(await page.evaluate(() => [location.href, history.length])).toEqual(before);
    const [opened] = await Promise.all([page.context().waitForEvent("page"), figure!.click("#figure-credit a")]);
    await opened.waitForSelector(DRAWN);
    expect(opened.url()).toBe(`${site.url}#/masks?left=4`);
    expect(await opened.locator("#bar").isVisible()).toBe(true);
    expect(await opened.locator("[data-field=left]").inputValue()).toBe("4");
    await opened.close();
    await page.close();
  });

  test("tells its height when it is drawn and when it changes, and nothing else", async () => {
    const page = await visit(frame("?embed#/masks"));
    const [figure] = await drawn(page);
    await page.waitForFunction(() => (globalThis as unknown as { heard: object[] }).heard.length > 0);
    const height = () => figure!.evaluate(() => Math.ceil(document.documentElement.getBoundingClientRect().height));
    const last = async () => (await heard(page)).at(-1);
    expect(await last()).toEqual({
      origin: new URL(site.url).origin,
      data: { type: "headwise-height", height: await height() },
    });
    const before = await height();
    await page.locator("iframe").evaluate((element: HTMLIFrameElement) => (element.width = "400"));
    await page.waitForFunction(
      (old) =>
        (globalThis as unknown as { heard: { data: { height: number } }[] }).heard.some(
          ({ data }) => data.height > old,
        ),
      before,
    );
    await page.close();
  });

  test.each([
    ["light", "dark", "rgb(18, 20, 23)"],
    ["dark", "light", "rgb(246, 246, 243)"],
    ["dark", "auto", "rgb(18, 20, 23)"],
  ] as const)("on a %s system with the theme %s has the ground %s", async (colorScheme, theme, ground) => {
    const page = await visit(frame(`?embed&theme=${theme}#/masks`), {
      prepare: (fresh) => fresh.emulateMedia({ colorScheme }),
    });
    const [figure] = await drawn(page);
    expect(await figure!.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(ground);
    await page.close();
  });

  test("works in a sandbox that allows scripts only", async () => {
    const complaints: string[] = [];
    const page = await visit(frame("?embed#/masks?left=5", 'sandbox="allow-scripts"'), {
      prepare: (fresh) => Promise.resolve(fresh.on("pageerror", ({ message }) => complaints.push(message))),
    });
    const [figure] = await drawn(page);
    expect(await figure!.evaluate(() => self.origin)).toBe("null");
    await figure!.locator("[data-field=left]").press("ArrowLeft");
    await figure!.waitForSelector('#figure-credit a[href$="#/masks?left=4"]');
    await figure!.waitForSelector(DRAWN);
    expect(await figure!.locator(".failure").filter({ visible: true }).count()).toBe(0);
    expect((await heard(page))[0]).toMatchObject({ origin: "null", data: { type: "headwise-height" } });
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("the lab itself, in a sandbox, changes its theme and computes", async () => {
    const page = await visit(frame("#/masks", 'sandbox="allow-scripts"'));
    const [inside] = await drawn(page);
    await inside!.click("#theme");
    expect(await inside!.evaluate(() => document.documentElement.dataset["theme"])).toBe("light");
    await page.close();
  });
});

describe("<headwise-figure>", () => {
  test("shows the figure as high as it is, in place of its content, with a name", async () => {
    const page = await visit(script() + figure('label="Attention of Mistral"'));
    const figureFrame = await shown(page);
    expect(await page.getByText("In place of the figure").isVisible()).toBe(false);
    expect(await page.getByTitle("Attention of Mistral").getAttribute("loading")).toBe("lazy");
    await figureFrame.waitForFunction(() => document.documentElement.scrollHeight <= innerHeight);
    const box = await page.locator("headwise-figure").boundingBox();
    expect(box!.height).toBe(await figureFrame.evaluate(() => innerHeight));
    await page.setViewportSize({ width: 390, height: 700 }); // it grows, and the element with it
    await figureFrame.waitForFunction(
      (before) => innerHeight > before && document.documentElement.scrollHeight <= innerHeight,
      box!.height,
    );
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await page.close();
  });

  test("computes with one thread in a page that is not isolated, and does not speak of it", async () => {
    const page = await visit(script() + figure());
    const figureFrame = await shown(page);
    expect(await figureFrame.locator("#engine summary").textContent()).toContain("1 thread");
    expect(
      await figureFrame
        .getByText(/isolated|thread/)
        .filter({ visible: true })
        .count(),
    ).toBe(0);
    await page.close();
  });

  test("is shown in a page that is isolated", async () => {
    const page = await visit(script() + figure(), { host: isolatedHost });
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
    await shown(page);
    await page.close();
  });

  test("is drawn in another document too, into which it has moved", async () => {
    const page = await visit(`${script()}${figure()}<iframe id="other" width="700" height="600"></iframe>`);
    await page.waitForSelector("headwise-figure iframe.drawn");
    const isDrawn = await page.evaluate(async () => {
      const other = document.querySelector<HTMLIFrameElement>("#other")!.contentDocument!;
      const moved = document.querySelector("headwise-figure")!;
      other.body.append(moved);
      const found = () => moved.shadowRoot!.querySelector("iframe.drawn") !== null;
      for (let waited = 0; waited < 20_000 && !found(); waited += 50) await new Promise((go) => setTimeout(go, 50));
      return found() && moved.clientHeight > 200;
    });
    expect(isDrawn).toBe(true);
    await page.close();
  });

  test("follows its attributes; new settings do not load the figure again, and none adds a step to the history", async () => {
    const page = await visit(script() + figure('settings="left=7"'));
    let inside = await shown(page);
    const steps = () => page.evaluate(() => history.length);
    const before = await steps();
    const set = (name: string, value: string) =>
      page
        .locator("headwise-figure")
        .evaluate((element, given) => element.setAttribute(...given), [name, value] as [string, string]);
    await inside.evaluate(() => ((globalThis as { mark?: string }).mark = "the same"));
    await set("settings", "left=5");
    await inside.waitForSelector('#figure-credit a[href$="#/masks?left=5"]');
    await inside.waitForSelector(DRAWN);
    expect(await inside.locator("[data-field=left]").inputValue()).toBe("5");
    expect(await inside.evaluate(() => (globalThis as { mark?: string }).mark)).toBe("the same");
    await set("label", "Five to the left");
    expect(await page.locator("headwise-figure iframe").getAttribute("title")).toBe("Five to the left");
    await set("theme", "dark");
    inside = await shown(page);
    expect(await inside.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    await set("room", "flash");
    await page.waitForSelector("headwise-figure iframe.drawn");
    expect(await page.frames()[1]!.locator("[data-room=flash]").count()).toBe(1);
    expect(await steps()).toBe(before);
    await page.close();
  });

  test("two in one page have a height each, and one that is removed frees its worker", async () => {
    const page = await visit(
      script() + figure('id="one"') + figure('id="two" settings="queries=4" style="width: 60%"'),
    );
    await page.locator("#two").scrollIntoViewIfNeeded();
    await page.waitForSelector("#one iframe.drawn");
    await page.waitForSelector("#two iframe.drawn");
    const figures = await drawn(page, 2);
    for (const each of figures) await each.waitForFunction(() => document.documentElement.scrollHeight <= innerHeight);
    const heights = await Promise.all(figures.map((each) => each.evaluate(() => innerHeight)));
    expect(heights[0]).not.toBe(heights[1]);
    const workers = () => page.workers().length;
    expect(workers()).toBe(2);
    const ended = Promise.race(page.workers().map((each) => new Promise((resolve) => each.once("close", resolve))));
    await page.locator("#one").evaluate((element) => element.remove());
    await ended;
    expect([workers(), page.frames().length]).toEqual([1, 2]);
    await figures[1]!.locator("[data-field=queries]").press("ArrowRight");
    await figures[1]!.waitForSelector('#figure-credit a[href$="queries=5"]');
    await page.close();
  });

  test("one that is put back is shown again", async () => {
    const page = await visit(script() + figure());
    await shown(page);
    await page.locator("headwise-figure").evaluate((element) => {
      const { parentElement } = element;
      element.remove();
      parentElement!.append(element);
    });
    expect(await page.getByText("In place of the figure").isVisible()).toBe(true);
    await shown(page);
    await page.close();
  });

  test("shows the whole lesson at a height that comes to rest, at its scene, and goes on by buttons", async () => {
    const page = await visit(`${script()}<headwise-figure room="lesson" settings="scene=3"></headwise-figure>`);
    await page.waitForSelector("headwise-figure iframe.drawn");
    const [inside] = await framesOf(page);
    const isShown = (scene: number) => inside!.waitForSelector(`.scene-bar [data-scene="${scene}"][aria-pressed=true]`);
    await isShown(3);
    const isWhole = () => document.documentElement.scrollHeight <= innerHeight;
    await inside!.waitForFunction(isWhole);
    const height = await page.evaluate(async () => {
      const box = document.querySelector("headwise-figure")!;
      for (let [same, last] = [0, 0]; same < 20; last = box.clientHeight) {
        await new Promise(requestAnimationFrame);
        same = box.clientHeight === last ? same + 1 : 0;
      }
      return box.clientHeight;
    });
    expect(height).toBeLessThan(2500);
    const texts = () => inside!.locator(".scene").filter({ visible: true }).locator("h2").allTextContents();
    await isShown(3);
    expect(await texts()).toEqual([expect.stringMatching(/^3 · /)]);
    await inside!.click(".scene-bar [data-step='1']");
    await isShown(4);
    expect(await texts()).toEqual([expect.stringMatching(/^4 · /)]);
    await inside!.waitForFunction(isWhole);
    await lab.frames(page);
    await isShown(4);
    await inside!.click('.scene-bar [data-scene="7"]');
    await isShown(7);
    expect(await inside!.locator(".onward").isVisible()).toBe(false); // it leads to what a figure does not have
    await page.close();
  });

  test("hears only its own frame", async () => {
    const page = await visit(script() + figure("", `<p style="height: 200px">In place</p>`), {
      prepare: (fresh) => fresh.route(/\.wasm$/, (route) => route.abort()),
    });
    await page.waitForSelector("headwise-figure iframe", { state: "attached" });
    await page.evaluate(async () => {
      postMessage({ type: "headwise-height", height: 5 });
      await new Promise((resolve) => addEventListener("message", resolve, { once: true }));
    });
    expect(await page.locator("headwise-figure iframe.drawn").count()).toBe(0);
    await page.close();
  });

  test.each([
    ["the script", /embed\.js$/],
    ["the lab's page", /\?embed/],
    ["the lab's code", /assets\/index.*\.js$/],
  ])("without %s its content stays", async (_, address) => {
    let failed!: Promise<unknown>;
    const page = await visit(script() + figure(), {
      async prepare(fresh) {
        failed = fresh.waitForResponse((response) => address.test(response.url()) && response.status() === 503);
        await fresh.route(address, (route) => route.fulfill({ status: 503, body: "" }));
      },
    });
    await failed;
    await expectContent(page);
    await page.close();
  });

  test("without the engine its content stays", async () => {
    const page = await visit(script() + figure(), {
      prepare: (fresh) => fresh.route(/\.wasm$/, (route) => route.fulfill({ status: 503, body: "" })),
    });
    const [inside] = await framesOf(page);
    await inside!.waitForSelector(".failure:not([hidden])", { state: "attached" });
    await expectContent(page);
    await page.close();
  });

  test("with a wrong address of the lab its content stays, until the address is right", async () => {
    const complaints: string[] = [];
    const page = await visit(script() + figure('lab="http://"'), {
      prepare: (fresh) => Promise.resolve(fresh.on("pageerror", ({ message }) => complaints.push(message))),
    });
    await expectContent(page);
    expect(complaints).toEqual(['<headwise-figure>: lab must be the address of a page, got "http://"']);
    await page.evaluate((lab) => document.querySelector("headwise-figure")!.setAttribute("lab", lab), site.url);
    await shown(page);
    await page.close();
  });

  test("without JavaScript its content stays", async () => {
    await visit(script() + figure()).then((page) => page.close());
    const context = await lab.browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(plainHost.url);
    expect(await page.getByText("In place of the figure").isVisible()).toBe(true);
    await context.close();
  });

  async function expectContent(page: Page): Promise<void> {
    expect(await page.getByText("In place of the figure").isVisible()).toBe(true);
    expect(await page.locator("headwise-figure iframe").filter({ visible: true }).count()).toBe(0);
  }

  test("may be defined by two scripts", async () => {
    const complaints: string[] = [];
    const page = await visit(script() + script().replace("embed.js", "embed.js?again") + figure(), {
      prepare: (fresh) => Promise.resolve(fresh.on("pageerror", ({ message }) => complaints.push(message))),
    });
    await shown(page);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("takes the lab from its attribute, if embed.js stands elsewhere", async () => {
    const source = await (await fetch(`${site.url}embed.js`)).text();
    await writeFile(path.join(folder, "copied.js"), source);
    const page = await visit(`<script type="module" src="copied.js"></script>${figure(`lab="${site.url}"`)}`);
    expect((await shown(page)).url()).toBe(`${site.url}?embed#/masks`);
    await page.close();
  });

  test.each(["light", "dark"] as const)(
    "axe finds nothing in a %s page around it, nor in the figure",
    async (theme) => {
      const page = await visit(`${script()}<p>Words.</p>${figure(`theme="${theme}"`)}`);
      const inside = await shown(page);
      expect(await lab.axe(page)).toEqual([]);
      expect(await lab.axe(inside)).toEqual([]);
      await page.close();
    },
  );

  test("is printed with its page", async () => {
    const page = await visit(script() + figure('settings="queries=4&amp;keys=4"'));
    const inside = await shown(page);
    await page.emulateMedia({ media: "print" });
    await inside.waitForFunction(() => document.documentElement.scrollHeight <= innerHeight);
    for (const part of ["h1", "attention-map"]) expect(await inside.locator(part).isVisible()).toBe(true);
    expect((await page.locator("headwise-figure").boundingBox())!.height).toBe(
      await inside.evaluate(() => innerHeight),
    );
    await page.close();
  });
});

describe("the document on figures", () => {
  test("the element of its listing is shown", async () => {
    const page = await visit(listings.get("embed.html")!.replaceAll("https://your.host/lab/", site.url));
    const inside = await shown(page);
    expect(await inside.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    expect(await inside.locator("[data-field=left]").inputValue()).toBe("5");
    expect(await inside.locator("[data-field=causal]:checked").inputValue()).toBe("lower-right");
    expect(await page.getByTitle("A sliding window").isVisible()).toBe(true);
    await page.close();
  });

  test("the frame of its listing gets the height of its figure", async () => {
    const page = await visit(listings.get("frame.html")!.replaceAll("https://your.host/lab/", site.url));
    const [inside] = await drawn(page);
    await inside!.waitForFunction(() => document.documentElement.scrollHeight <= innerHeight);
    expect(await inside!.evaluate(() => innerHeight)).not.toBe(800);
    await page.close();
  });

  test("names the rooms that there are", () => {
    const named = /as in the address of the lab: (.*?) \|/.exec(readFileSync("web/docs/embed.md", "utf8"))![1]!;
    expect([...named.matchAll(/`(\w+)`/g)].map((match) => match[1])).toEqual(ROOMS);
  });
});

describe("“Share this figure” in every room", () => {
  const open = async () => {
    await lab.enter("masks?left=5");
    await lab.page.getByRole("button", { name: "Share this figure" }).press("Enter");
    await lab.page.getByRole("dialog", { name: "Share this figure" }).waitFor();
    await lab.page.getByLabel("What to show").selectOption("The whole room");
    await lab.page.getByText("Put it into another page").press("Enter");
  };
  const markup = (label: RegExp) => lab.page.getByLabel(label).inputValue();

  test.each([
    ["element", /^A script and an element/],
    ["frame", /^A frame/],
  ])("gives the markup of the %s with the room's settings", async (_, label) => {
    await open();
    const given = (await markup(label)).replaceAll(lab.url, site.url);
    const page = await visit(given);
    const [inside] = await drawn(page);
    expect(inside!.url()).toBe(`${site.url}?embed#/masks?left=5`);
    await page.close();
  });

  test.each([/^A script and an element/, /^A frame/])("works as it is, under “npm start”: %s", async (label) => {
    await open();
    const page = await visit(await markup(label));
    const [inside] = await drawn(page);
    expect(inside!.url()).toBe(`${lab.url}?embed#/masks?left=5`);
    await page.close();
    expect(await lab.page.getByRole("dialog").textContent()).toContain(
      "runs on your machine: only you see its figures",
    );
  });

  test("gives the markup of one card", async () => {
    await open();
    await lab.page.getByLabel("What to show").selectOption("What need not be computed");
    const page = await visit((await markup(/^A script and an element/)).replaceAll(lab.url, site.url));
    const inside = await shown(page);
    expect(inside.url()).toBe(`${site.url}?embed&card=2#/masks?left=5`);
    const visible = inside.locator(".stage h2").filter({ visible: true });
    expect(await visible.allTextContents()).toEqual(["What need not be computed"]);
    await page.close();
  });

  test("opens a dialog that axe accepts, and Escape leads back", async () => {
    await open();
    expect(await lab.axe()).toEqual([]);
    await lab.page.keyboard.press("Escape");
    await lab.page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await lab.page.evaluate(() => document.activeElement!.textContent)).toBe("Share this figure");
  });

  test("copies, and says so", async () => {
    await open();
    await lab.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await lab.page.getByRole("button", { name: /^Copy: A frame/ }).click();
    await lab.page.getByRole("status").getByText("Copied.").waitFor();
    expect(await lab.page.evaluate(() => navigator.clipboard.readText())).toBe(await markup(/^A frame/));
    await lab.page.context().clearPermissions();
  });
});
