import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";

import { LabPage, ROOMS } from "./labPage.js";

const lab = new LabPage();

afterEach(async () => {
  await lab.page.emulateMedia({ media: null, colorScheme: null, forcedColors: null, reducedMotion: null });
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
      await lab.walk(place);
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

describe("on paper", () => {
  test.each(ROOMS)(
    "the room %s has its picture and its address, in light colours and without controls",
    async (room) => {
      await lab.page.evaluate(() => (document.documentElement.dataset["theme"] = "dark"));
      await lab.walk(room);
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
          controls: seen(
            "#bar, #busy:not([hidden]), .panel, .tools, .next, main button:not(:is(th, td, li) > *, .token-strip *), main select, main textarea",
          ),
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

describe("on paper", () => {
  const A4 = { width: 718, height: 1046 }; // less its margins, in CSS pixels
  beforeEach(() => lab.page.emulateMedia({ media: "print", reducedMotion: "reduce" }));

  test.each([
    ["train", ["head 1", "head 4"]],
    ["generate", ["head 1", "head 2"]],
    ["sentence", ["layer 1 head 1", "layer 2 head 4"]],
    ["tensors", ["head 1", "head 4"]],
  ])("every head of the room %s keeps its name", async (room, names) => {
    await lab.page.setViewportSize({ width: 1366, height: 768 });
    await lab.walk(room);
    const text = await lab.page.locator(".stage").first().innerText();
    for (const name of names) expect(text).toContain(name);
    if (room === "sentence") {
      const rows = await lab.page.locator("table.habits tbody tr").allInnerTexts();
      expect(rows).toHaveLength(8);
      for (const row of rows) expect(row).toMatch(/layer \d head \d/);
    }
  });

  test("no column is empty: the boxes that switch heads are no column on paper", async () => {
    await lab.walk("sentence");
    await lab.page.emulateMedia({ media: "print" });
    const heads = lab.page.locator("table.heads tr:visible");
    const cells = await heads.evaluateAll((rows) =>
      rows.map((row) =>
        [...row.children]
          .filter((cell) => cell.checkVisibility())
          .map((cell) => (cell as HTMLElement).innerText.trim()),
      ),
    );
    expect(cells[0]).toEqual(["Head", "Strength of its output", "Attention moved"]);
    for (const row of cells) expect(row.filter((words) => words === "")).toEqual([]);
  });

  test.each(["sentence", "masks", "generate"])("no heading of the room %s stands over nothing", async (room) => {
    const page = await lab.open();
    await page.setViewportSize(A4);
    await page.emulateMedia({ media: "print" });
    lab.staysFolded = true;
    await lab.enter(room, page);
    lab.staysFolded = false;
    const bare = await page.locator(".card:visible, h3:has(+ .chips):visible").evaluateAll((parts) =>
      parts
        .filter((part) => !part.querySelector("attention-map")?.checkVisibility())
        .filter((part) => !(part as HTMLElement).innerText.trim().includes("\n"))
        .map((part) => part.textContent),
    );
    expect(bare).toEqual([]);
    await page.close();
  });

  test.each([...ROOMS, "matrix?numHeads=4&headDim=4&inputDim=8&positions=6&valueDim=4", "tensors?mode=attention"])(
    "nothing of the room %s is cut",
    async (room) => {
      for (const width of [A4.width, A4.height]) {
        await lab.page.setViewportSize({ width, height: 1000 });
        if (width === A4.width) await lab.walk(room);
        else await lab.frames();
        const cut = await lab.page.evaluate(() =>
          [...document.querySelectorAll(".room *")]
            .filter((node) => node.checkVisibility() && !node.closest(".katex, [aria-hidden=true]"))
            .filter((node) => {
              const { right, width } = node.getBoundingClientRect();
              const { overflowX, overflowY, clipPath } = getComputedStyle(node);
              const hides = clipPath === "none" && width > 1;
              const isCut =
                (overflowX !== "visible" && node.scrollWidth > node.clientWidth + 1) ||
                (overflowY !== "visible" && node.scrollHeight > node.clientHeight + 1);
              return hides && (right > innerWidth + 1 || isCut);
            })
            .map((node) => node.outerHTML.slice(0, 120)),
        );
        expect([room, width, ...cut.slice(0, 3)]).toEqual([room, width]);
      }
    },
  );
});

test("with reduced motion nothing moves by itself", async () => {
  await lab.page.emulateMedia({ reducedMotion: "reduce" });
  for (const room of ROOMS) {
    await lab.walk(room);
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
