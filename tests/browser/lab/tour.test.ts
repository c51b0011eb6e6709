import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";

import { STEPS, stepAddress } from "../../../web/demo/lab/tour/steps.js";
import { LabPage } from "./labPage.js";

const lab = new LabPage();
lab.staysFolded = true;

/** The settings that the open room does not have: neither its address nor one of its controls shows them. */
const notSet = (page: Page, settings: string) =>
  page.evaluate((wanted) => {
    const address = new URLSearchParams(location.hash.split("?")[1]);
    const hasControl = (name: string, value: string) =>
      [...document.querySelectorAll<HTMLInputElement>(`main [data-field=${name}]`)].some((control) =>
        control.type === "checkbox"
          ? String(control.checked) === value
          : control.value === value && (control.type !== "radio" || control.checked),
      );
    return [...new URLSearchParams(wanted)].filter(
      ([name, value]) => address.get(name) !== value && !hasControl(name, value),
    );
  }, settings);

/** How many pixels of a picture are between the bar and the tour. */
const seen = (page: Page, picture: string) =>
  page.evaluate((selector) => {
    const box = (wanted: string) => document.querySelector(wanted)!.getBoundingClientRect();
    const { top, bottom } = box(`main ${selector}`);
    return Math.min(bottom, box("#tour").top) - Math.max(top, box("#bar").bottom);
  }, picture);

const truth = (page: Page) => page.locator("#tour .tour-truth");

/** Waits for the truth of a step, and gives its words. */
async function revealed(page: Page): Promise<string> {
  await page.locator("#tour").getByText("headwise computes it").waitFor({ state: "hidden" });
  await page.locator("#tour .right").waitFor();
  return (await truth(page).textContent())!;
}

test("the keyboard alone goes through all steps, predicts, and is told the truth", async () => {
  const page = await lab.open();
  await lab.enter("masks", page);
  const press = async (key: string, wanted: () => Promise<boolean>) => {
    for (let presses = 0; presses < 200; presses++) {
      if (await wanted()) return;
      await page.keyboard.press(key);
    }
    throw new Error(`${key} does not lead there`);
  };
  const focusIs = (selector: string) => () =>
    page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector);
  await press("Tab", focusIs("#take-tour"));
  await page.keyboard.press("Enter");
  for (const [index, step] of STEPS.entries()) {
    await page.getByText(`Tour, step ${index + 1} of ${STEPS.length}`).waitFor();
    await lab.ready(step.room, page);
    expect(await focusIs(".tour-question")()).toBe(true);
    expect(await page.locator(".tour-question").textContent()).toBe(step.question);
    expect(await truth(page).textContent()).toBe("");
    expect(await notSet(page, step.before)).toEqual([]);
    await press("Tab", focusIs("#tour .chips button"));
    await page.keyboard.press("Enter");
    const said = await revealed(page);
    await lab.ready(step.room, page);
    expect(said).toMatch(/^(You were right|You said “)/);
    expect(said).toMatch(/\d/);
    expect(await page.locator("#tour .chips [aria-pressed=true]").textContent()).toBe(step.answers[0]);
    await page.waitForFunction((end) => location.hash.endsWith(end), `tour=${index + 1}&guess=1`);
    expect(await notSet(page, step.after)).toEqual([]);
    expect(await page.locator(".failure:visible").count()).toBe(0);
    expect(await seen(page, step.look)).toBeGreaterThan(100);
    await press("Tab", focusIs("#tour .row :is(a, button)"));
    await page.keyboard.press("Enter");
  }
  await page.locator("#tour").waitFor({ state: "hidden" });
  expect(await focusIs("#main")()).toBe(true);
  await page.waitForFunction(() => !location.hash.includes("tour="));
  await page.close();
});

test("the room of the first step does not tell its truth before the prediction", async () => {
  const page = await lab.open();
  await lab.enter(stepAddress(1).slice("#/".length), page);
  const told = await page.locator("main header").innerText();
  expect(told).toContain("No word stands twice here.");
  expect(told).not.toMatch(/without positions (its two rows|attention cannot)/);
  await page.close();
});

test("a step survives a reload, with its prediction and its truth; back returns to the step before", async () => {
  const page = await lab.open();
  await lab.enter("masks?causal=off&tour=4", page);
  await page.getByRole("button", { name: "300", exact: true }).click();
  const said = await revealed(page);
  expect(said).toMatch(/^You were right\. 300 of 576 pairs/);
  await page.waitForFunction(() => location.hash === "#/masks?tour=4&guess=3");
  await page.reload();
  expect(await revealed(page)).toBe(said);
  await page.getByRole("link", { name: "Next step" }).click();
  await lab.ready("flash", page);
  await page.getByText(`Tour, step 5 of ${STEPS.length}`).waitFor();
  await page.goBack();
  await lab.ready("masks", page);
  expect(await revealed(page)).toBe(said);
  await page.close();
});

test("the tour can be left at any time, and another room leads back to the step", async () => {
  const page = await lab.open();
  await lab.enter("masks?causal=off&tour=4", page);
  await page.getByRole("navigation", { name: "Beside this room" }).getByRole("link", { name: "Flash" }).click();
  await lab.ready("flash", page);
  expect(await page.locator("#tour .chips").isVisible()).toBe(false);
  await page.getByRole("link", { name: "Back to this step" }).click();
  await lab.ready("masks", page);
  expect(await page.locator("#tour .chips").isVisible()).toBe(true);
  await page.getByRole("button", { name: "Leave the tour" }).click();
  await page.locator("#tour").waitFor({ state: "hidden" });
  await page.waitForFunction(() => location.hash === "#/masks?causal=off");
  await page.close();
});

test.each([
  [1366, "light"],
  [390, "dark"],
] as const)(
  "axe finds nothing in a step before and after, %i pixels wide, in %s, and it fits",
  async (width, colorScheme) => {
    const page = await lab.open();
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: width === 390 ? 844 : 768 });
    await lab.enter("matrix?dim=2&tour=3", page);
    expect(await lab.axe(page)).toEqual([]);
    await page.locator("#tour .chips button").first().click();
    await revealed(page);
    await page.waitForFunction(() => /tour=3&guess=\d$/.test(location.hash)); // then the room has what the step sets
    await lab.ready("matrix", page);
    expect(await lab.axe(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await seen(page, STEPS[2]!.look)).toBeGreaterThan(100);
    await page.close();
  },
);

test("below the last line of the page there is nothing but the tour", async () => {
  const page = await lab.open();
  for (const width of [1366, 390]) {
    await page.setViewportSize({ width, height: 800 });
    await lab.enter("matrix?dim=2&tour=3", page);
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await lab.frames(page);
    const gap = await page.evaluate(() => {
      const last = document.querySelector("main .next")!.getBoundingClientRect().bottom;
      return document.querySelector("#tour")!.getBoundingClientRect().top - last;
    });
    expect(gap).toBeGreaterThanOrEqual(0); // all of the page can be seen
    expect(gap).toBeLessThan(80);
  }
  await page.close();
});
