import { expect, test } from "@jest/globals";

import { LabPage } from "./labPage.js";

const lab = new LabPage();
/** All numbers of every table whose name is or begins with this. */
const tables = (name: string) =>
  lab.page
    .locator(`table[aria-label^="${name}"]`)
    .evaluateAll((all) => all.map((table) => [...table.querySelectorAll("tbody td")].map((cell) => cell.textContent)));

test("in column form one head's weights are the same numbers wherever they stand", async () => {
  await lab.enter("matrix?form=columns&causal=true");
  const [weights] = await tables("weights P");
  const [head] = await tables("the one head");
  expect(head).toEqual(weights);
});

test("no sentence says that every row sums to 1 beside an empty row", async () => {
  await lab.enter("matrix?causal=true&excludeSelf=true");
  expect(await lab.page.locator(".stage").textContent()).not.toContain("Every row of queries sums to 1");
});

test("the formulas of the column form have one notation", async () => {
  await lab.enter("matrix?form=columns");
  const formulas = await lab.page.locator(".formula annotation").allTextContents();
  expect(formulas.join(" ")).toContain("p_{ji}");
  expect(formulas.join(" ")).not.toContain("p_{ij}");
});

test("the comparison with double precision takes all heads, in the form that is shown", async () => {
  await lab.enter("matrix?heads=2&form=columns");
  await lab.page.getByText("Compare with double precision").click();
  const said = await lab.page.locator(".verdict", { hasText: "Against the definition" }).textContent();
  expect(said).toContain("probabilities: 32 numbers");
});
