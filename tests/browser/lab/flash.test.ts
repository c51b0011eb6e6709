import { expect, test } from "@jest/globals";

import { randomNormal } from "../../../web/demo/lab/shell/random.js";
import { LabPage } from "./labPage.js";

const lab = new LabPage();

test("what a row says when it is finished is what the package computes in Node", async () => {
  await lab.enter("flash?step=10&row=3");
  const tensor = (seed: number) => ({ data: randomNormal(seed, 64), shape: [1, 1, 16, 4] });
  const { output } = await lab.hw.scaledDotProductAttention(tensor(11), tensor(12), tensor(13), { causal: true });
  const said = await lab.page.getByText("is finished: o/ℓ").textContent();
  const numbers = /\(([^)]+)\)/
    .exec(said!)![1]!
    .split(",")
    .map((text) => Number(text.trim().replace("−", "-")));
  numbers.forEach((value, d) => expect(Math.abs(value - output.data[60 + d]!)).toBeLessThanOrEqual(0.000501));
});

test("on a tablet, each heading of the costs stands over its own column, and each share has its bar", async () => {
  await lab.page.setViewportSize({ width: 820, height: 1180 });
  await lab.enter("flash");
  const costs = lab.page.locator(".costs");
  const wide = await costs
    .locator("thead th")
    .evaluateAll((names) =>
      names.filter((name) => name.scrollWidth > name.clientWidth).map((name) => name.textContent),
    );
  expect(wide).toEqual([]);
  const bars = await costs.locator(".bar").evaluateAll((all) => all.map((bar) => bar.clientWidth));
  expect(Math.min(...bars)).toBeGreaterThan(40);
});
