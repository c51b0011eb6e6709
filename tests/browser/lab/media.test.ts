import { afterEach, describe, expect, test } from "@jest/globals";

import { LabPage, ROOMS } from "./labPage.js";

const lab = new LabPage();

afterEach(async () => {
  await lab.page.emulateMedia({ media: null, colorScheme: null, forcedColors: null });
  await lab.page.setViewportSize({ width: 1280, height: 900 });
});

describe.each(["light", "dark"] as const)("with forced colours, %s,", (colorScheme) => {
  test("what is chosen differs from what is not", async () => {
    await lab.page.emulateMedia({ forcedColors: "active", colorScheme });
    for (const [place, chosen, other] of [
      ["masks", "#rooms a[aria-current]", "#rooms a:not([aria-current])"],
      ["masks", ".choices label:has(:checked)", ".choices label:not(:has(:checked))"],
      ["matrix?heads=2", ".picker button[aria-pressed=true]", ".picker button[aria-pressed=false]"],
    ] as const) {
      await lab.enter(place);
      const colours = (selector: string) =>
        lab.page
          .locator(selector)
          .first()
          .evaluate((node) => {
            const { backgroundColor, color } = getComputedStyle(node);
            return { backgroundColor, color };
          });
      const [yes, no] = [await colours(chosen), await colours(other)];
      expect(yes.backgroundColor).not.toBe(no.backgroundColor);
      expect(yes.color).not.toBe(yes.backgroundColor);
    }
  });

  test("cells, tiles and swatches have an outline", async () => {
    await lab.page.emulateMedia({ forcedColors: "active", colorScheme });
    await lab.enter("matrix");
    const outlines = (selector: string) =>
      lab.page
        .locator(selector)
        .evaluateAll((nodes) => [
          ...new Set(nodes.map((node) => getComputedStyle(node)).map((s) => s.outlineStyle + s.outlineWidth)),
        ]);
    // A number that can be changed has a dashed one, a lighted number a thick one.
    for (const outline of await outlines(".numbers tbody td:not(.hidden)"))
      expect(outline).toMatch(/^(solid|dashed)[1-9]/);
    await lab.enter("masks");
    expect(await outlines(".swatch")).toEqual(["solid1px"]);
    const strokes = lab.page.locator(".tiles rect");
    expect(await strokes.evaluateAll((nodes) => nodes.every((node) => getComputedStyle(node).stroke !== "none"))).toBe(
      true,
    );
    expect(await lab.axe()).toEqual([]);
  });
});

test.each(ROOMS)(
  "on a phone, what is wider than the room %s scrolls by itself, with the keyboard too",
  async (room) => {
    await lab.page.setViewportSize({ width: 390, height: 844 });
    await lab.enter(room);
    const out = await lab.page.evaluate(() => {
      const isSeen = (node: Element) => node.clientWidth > 1 && node.checkVisibility();
      const nodes = [...document.querySelectorAll("main *")].filter(isSeen);
      const wide = nodes.filter((node) => node.scrollWidth > node.clientWidth + 1);
      const scrollers = wide.filter((node) => /auto|scroll/.test(getComputedStyle(node).overflowX));
      const isReached = (node: Element) =>
        (node as HTMLElement).tabIndex >= 0 || node.querySelector("input, button, [tabindex='0']") !== null;
      const name = (node: Element) => `${node.tagName}.${node.className} ${node.scrollWidth} in ${node.clientWidth}`;
      const cut = nodes.filter(
        (node) =>
          node.matches(".formula, table, figure, svg, pre") &&
          node.getBoundingClientRect().right > innerWidth + 1 &&
          !node.closest(".scroll, .formula, .matrix, pre"),
      );
      return [...scrollers.filter((node) => !isReached(node)), ...cut].map(name);
    });
    expect(out).toEqual([]);
    expect(await lab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  },
);

test.each(ROOMS)("on a phone, a finger meets every control of the room %s", async (room) => {
  await lab.page.setViewportSize({ width: 390, height: 844 });
  await lab.enter(room);
  const small = await lab.page.evaluate(() =>
    [...document.querySelectorAll("a, button, input, select, summary, textarea")]
      // A link in a sentence is as high as its line, and a label belongs to its control.
      .filter((node) => node.checkVisibility() && !node.matches("p a, .numbers input"))
      .map((node) => node.closest(".choices label, .toggle, .drop") ?? node)
      .map((node) => ({ node, box: node.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0 && (box.width < 23.9 || box.height < 23.9))
      .map(({ node, box }) => `${node.outerHTML.slice(0, 80)} ${box.width} × ${box.height}`),
  );
  expect(small).toEqual([]);
});

describe("on paper", () => {
  test.each(ROOMS)(
    "the room %s has its picture and its address, in light colours and without controls",
    async (room) => {
      await lab.page.evaluate(() => (document.documentElement.dataset["theme"] = "dark"));
      await lab.enter(room);
      await lab.page.evaluate(() => (document.documentElement.dataset["theme"] = "dark"));
      await lab.page.emulateMedia({ media: "print" });
      const paper = await lab.page.evaluate(() => {
        const seen = (selector: string) =>
          [...document.querySelectorAll(selector)]
            .filter((node) => node.checkVisibility())
            .map((node) => node.outerHTML);
        const style = getComputedStyle(document.documentElement);
        const cards = [...document.querySelectorAll(".card")].map((node) => getComputedStyle(node).breakInside);
        return {
          controls: seen("#bar, #busy:not([hidden]), .panel, .tools, .next, main button, main select, main textarea"),
          headings: seen("h1").length,
          cards,
          scheme: style.colorScheme,
          ink: getComputedStyle(document.body).color,
          address: document.querySelector<HTMLElement>(".on-paper")!.innerText,
          url: location.href,
        };
      });
      expect(paper.controls).toEqual([]);
      expect(paper.headings).toBe(1);
      expect(new Set(paper.cards)).toEqual(new Set(["avoid"]));
      expect([paper.scheme, paper.ink]).toEqual(["light", "rgb(27, 29, 33)"]);
      expect(paper.address).toBe(paper.url);
      expect((await lab.page.pdf({ format: "A4" })).length).toBeGreaterThan(10_000);
      await lab.page.evaluate(() => delete document.documentElement.dataset["theme"]);
    },
  );
});

test("with reduced motion nothing moves by itself", async () => {
  await lab.page.emulateMedia({ reducedMotion: "reduce" });
  for (const room of ROOMS) {
    await lab.enter(room);
    expect(await lab.page.evaluate(() => document.getAnimations().length)).toBe(0);
    const moving = await lab.page.evaluate(
      () =>
        [...document.querySelectorAll("*")].filter(
          (node) => parseFloat(getComputedStyle(node).transitionDuration) > 0.001,
        ).length,
    );
    expect(moving).toBe(0);
  }
  await lab.page.emulateMedia({ reducedMotion: null });
});
