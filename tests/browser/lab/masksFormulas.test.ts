import { expect, test } from "@jest/globals";

import { compile } from "../../../web/demo/lab/rooms/masks/compile.js";
import { optionsOf, tensorsOf } from "../../../web/demo/lab/rooms/masks/options.js";
import { RECIPES } from "../../../web/demo/lab/rooms/masks/recipes.js";
import { fields } from "../../../web/demo/lab/rooms/masks/settings.js";
import { State } from "../../../web/demo/lab/shell/state.js";
import { expectClose, LabPage } from "./labPage.js";

const lab = new LabPage();

const place = (settings: Readonly<Record<string, string>>) =>
  `masks?${new URLSearchParams({ rules: "formulas", ...settings })}`;
const field = (name: "visible" | "score" | "parameters") => lab.page.locator(`[data-field=${name}]`);
const fault = (name: string) => lab.page.locator(`#formula-${name}-fault`);
const finding = () => lab.page.locator(".main-finding").textContent();

async function settled(): Promise<void> {
  await lab.ready("masks");
}

test.each([
  ...Object.values(RECIPES).map(({ rules }) => new State(fields, new URLSearchParams(rules as never)).query.toString()),
  "rules=formulas&queries=5&keys=11&visible=k+%3C%3D+q+%2B+Skv+-+Sq&score=sin%28s%29+%2B+cos%28q%29&sink=1",
])("masks, %s: the room computes what the package computes in Node", async (query) => {
  const { values } = new State(fields, new URLSearchParams(query));
  const tensors = tensorsOf(values);
  const { compiled, faults } = compile(values);
  expect(faults).toEqual({});
  const { probs } = await lab.hw.scaledDotProductAttention(tensors.query, tensors.key, tensors.value, {
    ...optionsOf(values),
    ...compiled,
    returns: { probs: true },
  });
  await lab.enter(`masks?${query}`);
  expectClose(await lab.mapNumbers(), probs.data);
});

test("a preset fills the fields, and its formulas give its picture", async () => {
  for (const name of ["BERT, padded", "BLOOM", "Gemma 2, local layer", "Longformer"]) {
    await lab.enter("masks");
    await lab.page.getByRole("button", { name, exact: true }).click();
    await settled();
    const [numbers, said] = [await lab.mapNumbers(), await finding()];
    const texts = [await field("visible").inputValue(), await field("score").inputValue()];
    expect(texts.join("")).not.toBe("");
    await lab.page.getByLabel("Compute by formulas").check();
    await lab.page.waitForFunction(() => location.hash.includes("rules=formulas"));
    await settled();
    expectClose(await lab.mapNumbers(), numbers);
    expect(await finding()).toBe(said);
    expect(await lab.page.getByRole("button", { name, exact: true }).getAttribute("aria-pressed")).toBe("true");
    await lab.page.getByRole("button", { name: "GPT", exact: true }).click(); // stays with formulas
    await lab.page.waitForFunction(() => location.hash.includes("rules=formulas"));
    expect(await field("visible").inputValue()).toBe("k <= q");
  }
});

test("who types in a field computes by formulas, and the address keeps them", async () => {
  await lab.enter("masks");
  await field("visible").fill("k <= q && q - k < span");
  await fault("visible").getByText("span is not a parameter").waitFor();
  await field("parameters").fill("span = 2");
  await lab.page.waitForFunction(() => document.querySelector(".main-finding")!.textContent.includes("1 to 2 of 24"));
  await lab.page.waitForFunction(() => location.hash.includes("span+%3D+2"));
  expect(await fault("visible").isVisible()).toBe(false);
  expect(await lab.page.getByLabel("Window left").isVisible()).toBe(false); // the formulas say it
  const before = [lab.page.url(), await lab.mapNumbers()];
  await lab.page.reload();
  await settled();
  expect([lab.page.url(), await lab.mapNumbers()]).toEqual(before);
  expect(await field("visible").inputValue()).toBe("k <= q && q - k < span");
  await lab.page.getByRole("button", { name: "Reset" }).click();
  await lab.page.waitForFunction(() => !location.hash.includes("formulas"));
  expect(await field("visible").inputValue()).toBe("k <= q && q - k <= left");
});

test("an error points at the character, and the last right picture stays", async () => {
  await lab.enter(
    place({ visible: "k <= q", score: "s - slope[h] * abs(q - k)", parameters: "slope = [1, 2, 3, 4, 5, 6, 7, 8]" }),
  );
  const [numbers, said] = [await lab.mapNumbers(), await finding()];
  await field("score").fill("s - slop[h] * abs(q - k)");
  await fault("score").getByText("Character 5: slop is not a parameter; did you mean slope?").waitFor();
  expect(await lab.page.locator(".fault pre:visible").textContent()).toBe("  s - slop[h] * abs(q - k)\n      ^");
  expect(await field("score").getAttribute("aria-invalid")).toBe("true");
  expect(await field("visible").getAttribute("aria-invalid")).toBe("false");
  const described = await field("score").getAttribute("aria-describedby");
  expect(await lab.page.locator(`#${described}`).getAttribute("aria-live")).toBe("polite");
  await lab.page.getByText("Until this is right, the pictures show the last formula that was.").waitFor();
  expect(await lab.mapNumbers()).toEqual(numbers);
  expect(await finding()).toBe(said);
  expect(await lab.axe()).toEqual([]);
  await field("score").fill("s");
  await fault("score").waitFor({ state: "hidden" });
  await lab.page
    .getByText("Until this is right, the pictures show the last formula that was.")
    .waitFor({ state: "hidden" });
});

test("a call that headwise refuses is told below the fields", async () => {
  await lab.enter(place({ visible: "k <= q", score: "s * m[h]", parameters: "m = [1, 2]" })); // eight heads
  await lab.page.locator("#formula-call").getByText("m").waitFor();
  await lab.page.getByText("the pictures are drawn without formulas").waitFor(); // nothing was right before
  expect(await finding()).toContain("576 of 576");
  await field("parameters").fill("m = [1, 2, 3, 4, 5, 6, 7, 8]");
  await lab.page.waitForFunction(() => document.querySelector(".main-finding")!.textContent.includes("300 of 576"));
  expect(await lab.page.locator("#formula-call").isVisible()).toBe(false);
});

test.each([
  ["long", { visible: "k<=q&&".repeat(5000) + "k<=q" }],
  ["broken", { visible: "k <= (q", score: "s +", parameters: "= 1" }],
  ["nested", { visible: "(".repeat(4000), score: "-".repeat(4900) + "s" }],
  ["of markup", { visible: "<img src=x onerror=alert(1)>", score: "<script>alert(1)</script>", parameters: "<b>" }],
  [
    "of other names",
    { visible: "constructor.constructor('alert(1)')()", score: "__proto__", parameters: "__proto__ = 1" },
  ],
  ["of signs", { visible: "\u0000\u202e🙂", score: "%%%", parameters: "\uffff = ," }],
])("an address with formulas that are %s is an error, and the room works", async (_, settings) => {
  await lab.enter(place(settings));
  expect(await lab.page.locator(".fault:visible").count()).toBeGreaterThan(0);
  expect(await lab.page.locator(".failure").isVisible()).toBe(false);
  expect(await finding()).toContain("576 of 576");
  expect(await lab.page.evaluate(() => document.querySelectorAll(".formulas :is(img, script, b)").length)).toBe(0);
  expect(await lab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
  await lab.page.getByRole("button", { name: "GPT", exact: true }).click();
  await lab.page.waitForFunction(() => document.querySelector(".main-finding")!.textContent.includes("300 of 576"));
  expect(await lab.page.locator(".fault:visible").count()).toBe(0);
});

test("the tiles follow the head of the map, and are said in words", async () => {
  await lab.enter("masks");
  await lab.page.getByRole("button", { name: "A window for each head" }).click();
  await lab.page.waitForFunction(() => document.querySelector(".main-finding")!.textContent.startsWith("Head 1"));
  const words = () => lab.page.locator(".card .finding").first().textContent();
  const first = await words();
  expect(first).toMatch(/^Head 1: Of 36 tiles, 0 are computed whole/);
  await lab.page.locator("attention-map").evaluate((map) => {
    map.shadowRoot!.querySelectorAll<HTMLElement>("[role=radio]")[3]!.click();
  });
  await lab.page.waitForFunction(() => document.querySelector(".main-finding")!.textContent.startsWith("Head 4"));
  expect(await words()).not.toBe(first);
  await lab.page.getByText("The tiles in words").click();
  const table = lab.page.getByRole("table").filter({ hasText: "queries 0 to 3" });
  const cells = await table.locator("tbody td").allTextContents();
  const counts = ["all", "mixed", "none"].map((state) => cells.filter((cell) => cell === state).length);
  expect(await words()).toMatch(
    new RegExp(
      `${counts[0]} (?:is|are) computed whole, ${counts[1]} (?:is|are) mixed, and ${counts[2]} (?:is|are) skipped`,
    ),
  );
  expect(await lab.axe()).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "in %s, on a phone, formulas and their errors fit and can be read",
  async (colorScheme) => {
    await lab.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await lab.page.setViewportSize({ width: 390, height: 800 });
    const score = "s - slope[h] * abs(q - k) + sin(q * 0.1) * cos(k * 0.1) - wrong + 1";
    await lab.enter(place({ visible: "k <= q", score, parameters: "slope = [1, 2, 3, 4, 5, 6, 7, 8]" }));
    await fault("score").getByText("wrong is not a parameter").waitFor();
    await lab.page.getByText("What a formula may say").click();
    expect(await lab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    expect(await lab.axe()).toEqual([]);
    await lab.page.setViewportSize({ width: 1280, height: 900 });
    await lab.page.emulateMedia({ colorScheme: null, reducedMotion: null });
  },
);

test("the keyboard alone changes a rule and reads the error", async () => {
  await lab.enter("masks");
  await lab.page.getByLabel("Compute by formulas").focus();
  await lab.page.keyboard.press("Space");
  await lab.page.keyboard.press("Tab");
  expect(await lab.page.evaluate(() => document.activeElement!.id)).toBe("formula-visible");
  await lab.page.keyboard.press("ControlOrMeta+a");
  await lab.page.keyboard.type("k <= p");
  await fault("visible").getByText("p is not a parameter").waitFor();
  await lab.page.keyboard.press("Tab"); // to the place of the error, which may be wider than its box
  expect(await lab.page.evaluate(() => document.activeElement!.tagName)).toBe("PRE");
  await lab.page.keyboard.press("Shift+Tab");
  await lab.page.keyboard.press("Backspace");
  await lab.page.keyboard.type("q");
  await lab.page.waitForFunction(() => document.querySelector(".main-finding")!.textContent.includes("300 of 576"));
});
