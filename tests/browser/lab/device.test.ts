import { expect, test } from "@jest/globals";

import { CASES } from "../../../web/demo/lab/engine/bench.js";
import { chartLayout } from "../../../web/demo/lab/rooms/device/chartLayout.js";
import { packResult } from "../../../web/demo/lab/rooms/device/sharing.js";
import { LabPage } from "./labPage.js";

const lab = new LabPage();

test("the device is measured, and the result can be shared", async () => {
  await lab.enter("device?seconds=0.02");
  await lab.page.getByText("Run the bench").click();
  await lab.page.getByText(/^Measured on/).waitFor();
  const rows = await lab.page.locator(".figures tbody tr").allTextContents();
  expect(rows.filter((row) => /relaxed.*GFLOP\/s.*of the roof.* · 10⁻⁷/.test(row)).length).toBeGreaterThan(0);
  expect(rows.at(-1)).toMatch(/WebGPU.*(GFLOP|adapter)/);
  await lab.page.reload();
  await lab.page.getByText(/^Measured on/).waitFor();
  expect(await lab.page.locator(".figures tbody tr").allTextContents()).toEqual(rows);
});

test("the numbers that are printed are those that are drawn", async () => {
  const figures = [
    { engine: { backend: "wasm", variant: "relaxed", threads: 2 }, error: 3e-7, roof: 4e10, bandwidth: 1e10, times: [2.1, 31.2, 60, 4.4] }, // oxfmt-ignore
    { engine: { backend: "wasm", variant: "simd", threads: 1 }, error: 3e-7, roof: 2.6e10, bandwidth: 7e9, times: [5, 90, 2824] }, // oxfmt-ignore
    { engine: { backend: "webgpu", variant: "wgsl", threads: 0 }, refusal: "no adapter", times: [] },
  ] as const;
  const result = packResult({ device: "a machine", date: "2026-01-02", figures, cancelledOf: 3 });
  await lab.enter(`device?${new URLSearchParams({ result })}`);
  await lab.page.getByText("Measured on a machine, 2026-01-02; the bench was cancelled when it had measured 7 of 12 figures.").waitFor(); // oxfmt-ignore
  const { points, labels } = chartLayout(figures);
  const drawn = await lab.page.locator(".roofline path.mark").evaluateAll((marks) =>
    marks.map((mark) => {
      const [, x, y] = /translate\((\S+) (\S+)\)/.exec(mark.getAttribute("transform")!)!.map(Number);
      return { x: x!, y: y! };
    }),
  );
  points.forEach(({ x, y }, n) => {
    expect(drawn[n]!.x).toBeCloseTo(x, 3);
    expect(drawn[n]!.y).toBeCloseTo(y, 3);
  });
  expect(await lab.page.locator(".roofline text.letter").count()).toBe(labels.length);
  const rows = await lab.page.locator(".figures tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent))); // oxfmt-ignore
  for (const { figure, case: index, gflops } of points) {
    const [, time, rate] = /^([\d,.]+)\u00a0ms([\d,.]+)\u00a0GFLOP/
      .exec(rows[figure]![index + 1]!.replaceAll(",", ""))!
      .map(Number);
    expect(Math.abs(rate! / gflops - 1)).toBeLessThan(0.0051);
    expect(Math.abs(CASES[index]!.flops / time! / 1e6 / gflops - 1)).toBeLessThan(0.0051);
  }
  expect(rows[1]!.at(-2)).toBe("not measured");
  expect(rows.flat().join(" ")).not.toMatch(/e[+-]\d/);
});

test("a bench that runs can be cancelled, keeps what it has, and leaves the engine usable", async () => {
  await lab.enter("device?seconds=2");
  const focused = () => lab.page.evaluate(() => document.activeElement!.textContent);
  await lab.page.getByRole("button", { name: "Run the bench" }).press("Enter");
  expect(await focused()).toBe("Cancel the bench");
  await lab.page.waitForFunction(() => /BERT, 12 heads × 512/.test(document.querySelector("#busy-what")!.textContent));
  await lab.page.keyboard.press("Enter");
  await lab.page.getByText(/the bench was cancelled when it had measured 1 of \d+ figures\.$/).waitFor();
  expect(await lab.page.locator(".roofline path.mark").count()).toBe(1);
  expect(await lab.page.getByRole("button", { name: "Cancel the bench" }).count()).toBe(0);
  expect(await focused()).toBe("Run the bench");
  await lab.compare();
  await lab.page.getByText("Against the definition").waitFor();
  expect(await lab.page.getByRole("button", { name: "Run the bench" }).isEnabled()).toBe(true);
});
