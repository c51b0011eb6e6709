import { readFileSync } from "node:fs";

import { beforeAll, describe, expect, test } from "@jest/globals";
import { flatten, loadSafetensors } from "headwise/train";
import type { Page } from "playwright-core";

import { LabPage } from "./labPage.js";
import { threadTimes } from "./pageThread.js";

const lab = new LabPage();

/** Small models, so that many steps take seconds. */
const SMALL = "train?heads=2&width=32&rate=5";

/** The numbers of the status line: the step, and the time of one. */
const stepOf = async (page: Page) =>
  Number(/step ([\d,]+)/.exec((await page.textContent(".run-status"))!)![1]!.replaceAll(",", ""));
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const reachStep = (page: Page, step: number) =>
  page.waitForFunction(
    (wanted) =>
      Number(/step ([\d,]+)/.exec(document.querySelector(".run-status")!.textContent)?.[1]?.replaceAll(",", "")) >=
      wanted,
    step,
  );
const pause = async (page: Page) => {
  await press(page, "Pause");
  await page.getByRole("button", { name: "Train", exact: true }).waitFor();
};
/** The heights of a curve's points: at the top of the chart they are 0. */
const curve = (page: Page, label: RegExp, kind: "two" | "one") =>
  page
    .getByRole("img", { name: label })
    .locator(`polyline.${kind}`)
    .evaluate((line) => [...(line as SVGPolylineElement).points].map(({ y }) => y));

/** A page of a visitor who wants no motion: nothing is trained before “Train” is pressed. */
async function openStill(): Promise<Page> {
  const page = await lab.open();
  await page.emulateMedia({ reducedMotion: "reduce" });
  return page;
}

describe("a training of eighty steps", () => {
  let page: Page;
  beforeAll(async () => {
    page = await openStill();
    await lab.enter(SMALL, page);
  });

  test("the loss falls, and the worker does the work, not the page's thread", async () => {
    expect(await page.textContent(".main-finding")).toMatch(/^Nothing is trained yet/);
    const { workers } = await threadTimes(page, "the lab trains", 50, async () => {
      await press(page, "Train");
      await reachStep(page, 80);
      await pause(page);
    });
    expect(workers).toBeGreaterThan(0);
    const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
    expect(loaded).toContainEqual(expect.stringMatching(/assets/));
    expect(loaded.filter((name) => name.includes(".wasm"))).toEqual([]); // the page cannot compute: the worker has the engine
    for (const kind of ["two", "one"] as const) {
      const loss = await curve(page, /^The loss/, kind);
      const mean = (points: readonly number[]) => points.reduce((sum, y) => sum + y, 0) / points.length;
      expect(mean(loss.slice(-20))).toBeGreaterThan(mean(loss.slice(0, 20)) + 1); // lower on the page
    }
    expect(await page.textContent(".main-finding")).toMatch(
      /^After [\d,]+ steps the two layers copy .*\u00a0%, and one layer copies|^After [\d,]+ steps the two layers copy/,
    );
  });

  test("a pause stops it, and one step is one step", async () => {
    const step = await stepOf(page);
    await press(page, "One step");
    await reachStep(page, step + 1);
    await page.getByRole("button", { name: "Train", exact: true }).waitFor();
    expect(await stepOf(page)).toBe(step + 1);
  });

  test("the scrubber shows an earlier step, with other maps, and “Latest” comes back", async () => {
    const picture = () =>
      page.locator(".head-tile canvas").first().evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL()); // oxfmt-ignore
    const [latest, words] = [await picture(), await page.textContent(".scrubber output")];
    await page.getByLabel("Checkpoint").focus();
    await page.keyboard.press("Home");
    await page.locator(".scrubber output", { hasText: "step 0" }).waitFor();
    expect(await picture()).not.toBe(latest);
    await press(page, "Latest");
    await page.locator(".scrubber output", { hasText: words! }).waitFor();
    expect(await picture()).toBe(latest);
  });

  test("a head is switched off, afterwards and by the address", async () => {
    await page.getByLabel("layer 1 head 2 is on").uncheck();
    await page.getByText(/you switched layer 1 head 2 off/).waitFor();
    await page.locator(".main-finding", { hasText: "Without layer 1 head 2" }).waitFor();
    await page.waitForFunction(() => location.hash.includes("off=1.2"));
    const shared = await page.evaluate(() => location.hash.slice(2));
    const other = await openStill();
    await lab.enter(shared, other);
    expect(await other.getByLabel("layer 1 head 2 is on").isChecked()).toBe(false);
    expect(await other.getByLabel("Width").inputValue()).toBe("32");
    await press(other, "Train"); // and during the training
    await reachStep(other, 5);
    await other.close();
    await page.getByLabel("layer 1 head 2 is on").check();
    await page.getByText(/you switched layer 1 head 2 on/).waitFor();
  });

  test("the maps are near their definition in double precision", async () => {
    await lab.compare(page);
    const said = await page.locator(".verdict", { hasText: "Against the definition" }).textContent();
    const distances = [...said!.matchAll(/at most (\S+) apart/g)].map(([, text]) => Number(text));
    expect(distances).toHaveLength(2);
    expect(Math.max(...distances)).toBeLessThan(1e-5);
  });

  test("the weights can be saved", async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), press(page, "Save the weights")]);
    expect(download.suggestedFilename()).toMatch(/^headwise-step-\d+\.safetensors$/);
    const weights = flatten(loadSafetensors(new Uint8Array(readFileSync(await download.path()))));
    for (const layer of [0, 1])
      for (const name of ["Wq", "Wk", "Wv", "Wo"])
        expect(weights[`layers.${layer}.attention.${name}`]!.shape).toEqual([32, 32]);
  });

  test("a layer opens in “Your model”, with the same map", async () => {
    await page.locator('[data-head="2.2"]').click();
    await page.getByRole("heading", { name: "Layer 2 head 2" }).waitFor();
    const maps = () =>
      page.evaluate(() => [
        ...(document.querySelector("attention-map") as unknown as { probs: { data: Float32Array } }).probs.data,
      ]);
    const here = await maps();
    await press(page, "Open this layer in “Your model”");
    await lab.ready("tensors", page);
    await page.getByText(/Your tensors: 2 heads, 64 queries and 64 keys; Query is layer2\.q/).waitFor();
    const there = (await maps()).slice(64 * 64);
    const apart = here.map((value, at) => Math.abs(value - there[at]!));
    expect(Math.max(...apart)).toBeLessThan(1e-4);
    await page.goBack();
    await lab.ready("train", page);
  });

  test("starting over begins at step 0, with the same numbers as the first time", async () => {
    await lab.enter(SMALL, page);
    await press(page, "Start over");
    await page.locator(".main-finding", { hasText: "Nothing is trained yet" }).waitFor();
    const course = async () => {
      await press(page, "Train");
      await reachStep(page, 10);
      await pause(page);
      return (await curve(page, /^The loss/, "two")).slice(0, 10);
    };
    const first = await course();
    await press(page, "Start over");
    await page.locator(".main-finding", { hasText: "Nothing is trained yet" }).waitFor();
    expect(await stepOf(page)).toBe(0);
    expect(await course()).toEqual(first);
    await page.close();
  });
});

/** Presses buttons in one task, before the worker answers. */
const pressAtOnce = (page: Page, ...names: string[]) =>
  page.evaluate((wanted) => {
    for (const name of wanted)
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!.click();
  }, names);

/** Starts over, and again as soon as the room is busy with that. Whether the weights could be saved in between. */
const startOverTwice = (page: Page) =>
  page.evaluate(async () => {
    const named = (name: string) =>
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!;
    const room = document.querySelector("[data-room=train]")!;
    const isBusy = new Promise<void>((resolve) => {
      const changes = new MutationObserver(() => room.ariaBusy === "true" && resolve());
      changes.observe(room, { attributeFilter: ["aria-busy"] });
    });
    named("Start over").click();
    const canSave = !named("Save the weights").disabled;
    await isBusy;
    named("Start over").click();
    return canSave;
  });

test("what is pressed while a training begins or pauses is done", async () => {
  const page = await openStill();
  await lab.enter(SMALL, page);
  const kept = page.getByRole("button", { name: "Save the weights", exact: true });
  expect(await kept.isEnabled()).toBe(true);
  expect(await startOverTwice(page)).toBe(false);
  await lab.ready("train", page);
  await page.locator(".room:has(button:text-is('Save the weights'):enabled)").waitFor();
  await press(page, "One step");
  await reachStep(page, 1);

  await press(page, "Train");
  await reachStep(page, 5);
  await pressAtOnce(page, "Pause", "One step");
  await page.getByRole("button", { name: "Train", exact: true }).waitFor();
  expect(await page.locator(".failure:visible").count()).toBe(0);
  await page.close();
});

describe("a training", () => {
  const seen = async (page: Page) => ({
    finding: await page.textContent(".main-finding"),
    copied: await curve(page, /^The share of repeated tokens/, "two"),
    loss: await curve(page, /^The loss/, "two"),
    moments: await page.locator(".moments li").allTextContents(),
  });

  test("is there again when the visitor comes back, and when the page is loaded anew, and goes on from there", async () => {
    const page = await openStill();
    await lab.enter(SMALL, page);
    await press(page, "Train");
    await reachStep(page, 30);
    await pause(page);
    const [step, before] = [await stepOf(page), await seen(page)];
    await page.getByRole("link", { name: "Positions", exact: true }).click();
    await lab.ready("positions", page);
    await page.goBack();
    await lab.ready("train", page);
    expect([await stepOf(page), await seen(page)]).toEqual([step, before]);
    await page.reload();
    await lab.ready("train", page);
    expect([await stepOf(page), await seen(page)]).toEqual([step, before]);
    await press(page, "One step");
    await reachStep(page, step + 1);
    expect((await seen(page)).loss.slice(0, step)).toEqual(before.loss);
    await press(page, "Start over");
    await page.locator(".main-finding", { hasText: "Nothing is trained yet" }).waitFor();
    await page.reload();
    await lab.ready("train", page);
    expect(await stepOf(page)).toBe(0);
    await page.close();
  });

  test("starts by itself, and again when the visitor comes back, unless it was paused", async () => {
    const page = await lab.open();
    await lab.enter(SMALL, page);
    await reachStep(page, 10);
    await page.getByRole("link", { name: "Positions", exact: true }).click();
    await lab.ready("positions", page);
    await page.goBack();
    await lab.ready("train", page);
    const step = await stepOf(page);
    expect(step).toBeGreaterThanOrEqual(10);
    await reachStep(page, step + 10);
    await pause(page);
    const paused = await stepOf(page);
    await page.reload();
    await lab.ready("train", page);
    expect(await page.getByRole("button", { name: "Train", exact: true }).isVisible()).toBe(true);
    expect(await stepOf(page)).toBe(paused);
    await page.close();
  });

  test("says one number: its headline is the last point of its curve", async () => {
    const page = await openStill();
    await lab.enter("train?heads=2&width=32&rate=10", page);
    await press(page, "Train");
    await reachStep(page, 45);
    await pause(page);
    const share = Number(/copy (\d+)\u00a0%/.exec((await seen(page)).finding!)?.[1] ?? 0);
    const [axis, top] = [160, 12]; // the plot of curves.ts
    const drawn = (await seen(page)).copied.at(-1)!;
    expect(Math.abs((100 * (axis - drawn)) / (axis - top) - share)).toBeLessThan(1);
    await page.close();
  });
});

test.each(["learned", "none"])("with positions %s it learns too, and without a control", async (position) => {
  const page = await openStill();
  await lab.enter(`train?heads=1&width=32&control=false&position=${position}`, page);
  expect(await page.locator(".layer-0").count()).toBe(0);
  await press(page, "Train");
  await reachStep(page, 5);
  await page.close();
});
