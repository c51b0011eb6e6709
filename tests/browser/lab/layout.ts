import { beforeAll, describe, expect, test } from "@jest/globals";

import { type SystemFont } from "../systemFont.js";
import { ROOMS, type LabPage } from "./labPage.js";

const PHONE = { width: 390, height: 844 };
const MATRICES = ["matrix?form=columns", "matrix?numHeads=4&headDim=4&inputDim=8&positions=6"];

/** The rule of axe whose verdict another font may change. All rules are asked in the lab's own font. */
const OF_SIZES = ["scrollable-region-focusable"];

/** What a layout must keep in every font. */
export function testLayout(lab: LabPage, font?: SystemFont): void {
  describe.each([...ROOMS, ...MATRICES])("on a phone, in the room %s,", (room) => {
    beforeAll(async () => {
      await lab.page.setViewportSize(PHONE);
      await lab.walk(room);
    });

    test("a finger meets every control", async () => expect(await smallControls(lab)).toEqual([]));

    test("what is wider than its place scrolls by itself, with the keyboard too", async () => {
      await openDetails(lab);
      expect(await unreachable(lab)).toEqual([]);
      expect(await lab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
      expect(await lab.axe(lab.page, font && OF_SIZES)).toEqual([]);
    });
  });

  test("a formula is a stop of the keyboard while it is wider than its place", async () => {
    await lab.page.setViewportSize(PHONE);
    await lab.enter("matrix");
    const formula = lab.page.locator(".diagram .formula").first();
    // As by a font that comes late: the formula becomes wider, and its place keeps its size.
    for (const [space, isWide] of Object.entries({ "0.01em": false, "5em": true, "0em": false })) {
      await formula.locator(".katex").evaluate((node: HTMLElement, em) => (node.style.letterSpacing = em), space);
      await formula.and(lab.page.locator(isWide ? "[tabindex='0']" : ":not([tabindex])")).waitFor();
    }
  });

  describe("the bar", () => {
    test.each([
      [1366, 768],
      [390, 844],
    ])("has all rooms on a laptop, and a phone can reach each of them: %i × %i", async (width, height) => {
      await lab.page.setViewportSize({ width, height });
      await lab.enter("masks");
      if (width > 1000) expect(await doorsOutside(lab)).toBe(0);
      await lab.page.getByRole("link", { name: "Your model" }).click();
      await lab.ready("tensors");
      const current = lab.page.locator("#rooms a[aria-current]");
      expect(await current.evaluate((link) => link.getBoundingClientRect().right <= innerWidth)).toBe(true);
    });
  });
}

async function openDetails(lab: LabPage): Promise<void> {
  await lab.page.evaluate(() => {
    document.querySelectorAll<HTMLDetailsElement>("main details").forEach((details) => (details.open = true));
  });
  await lab.frames();
}

/** What scrolls but is no stop of Tab and has none inside, what has no name, and what stands out of its place. */
const unreachable = (lab: LabPage) =>
  lab.page.evaluate(async () => {
    await document.fonts.ready;
    await new Promise(requestAnimationFrame);
    const isSeen = (node: Element) => node.clientWidth > 1 && node.checkVisibility();
    const nodes = [...document.querySelectorAll("main *")].filter(isSeen);
    const wide = nodes.filter((node) => node.scrollWidth > node.clientWidth + 1);
    const scrolls = (node: Element) => /auto|scroll/.test(getComputedStyle(node).overflowX);
    const isStop = (node: Element) => (node as HTMLElement).tabIndex >= 0;
    const isReached = (node: Element) =>
      isStop(node)
        ? node.matches("textarea, input, select") || node.ariaLabel !== null
        : node.querySelector("input, button, [tabindex='0']") !== null;
    const PARTS = ".formula, table, figure, svg, pre, dl, .card, .panel, .main-finding";
    // Cards and panels hold their content: only what scrolls by itself may be wider than its place.
    const spills = wide.filter((node) => node.matches(".card, .panel, dl, .main-finding") && !scrolls(node));
    const cut = nodes.filter(
      (node) =>
        node.matches(PARTS) &&
        node.getBoundingClientRect().right > innerWidth + 1 &&
        !node.closest(".scroll, .formula, .matrix, pre"),
    );
    const name = (node: Element) => `${node.tagName}.${node.className} ${node.scrollWidth} in ${node.clientWidth}`;
    return [...wide.filter((node) => scrolls(node) && !isReached(node)), ...spills, ...cut].map(name);
  });

/** Controls that are smaller than a fingertip. */
const smallControls = (lab: LabPage) =>
  lab.page.evaluate(() =>
    [...document.querySelectorAll("a, button, input, select, summary, textarea, .numbers td[tabindex]")]
      // A link in a sentence is as high as its line, and a label belongs to its control.
      .filter((node) => node.checkVisibility() && !node.matches("p a"))
      .map((node) => node.closest(".choices label, .toggle, .drop") ?? node)
      .map((node) => ({ node, box: node.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0 && (box.width < 23.9 || box.height < 23.9))
      .map(({ node, box }) => `${node.outerHTML.slice(0, 80)} ${box.width} × ${box.height}`),
  );

/** How many rooms are not in sight in the bar. */
const doorsOutside = (lab: LabPage) =>
  lab.page.evaluate(() => {
    const { left, right } = document.querySelector("#rooms")!.getBoundingClientRect();
    const boxes = [...document.querySelectorAll("#rooms a")].map((link) => link.getBoundingClientRect());
    return boxes.filter((box) => box.left < left - 1 || box.right > right + 1).length;
  });
