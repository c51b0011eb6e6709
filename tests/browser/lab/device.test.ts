import { expect, test } from "@jest/globals";

import { LabPage } from "./labPage.js";

const lab = new LabPage();

test("the device is measured, and the result can be shared", async () => {
  await lab.enter("device?seconds=0.02");
  await lab.page.getByText("Run the bench").click();
  await lab.page.getByText(/^Measured on/).waitFor();
  const rows = await lab.page.locator(".figures tbody tr").allTextContents();
  expect(rows.filter((row) => /relaxed.*GFLOP\/s.*of the roof.*e-7/.test(row)).length).toBeGreaterThan(0);
  expect(rows.at(-1)).toMatch(/WebGPU.*(GFLOP|adapter)/);
  await lab.page.reload();
  await lab.page.getByText(/^Measured on/).waitFor();
  expect(await lab.page.locator(".figures tbody tr").allTextContents()).toEqual(rows);
});
