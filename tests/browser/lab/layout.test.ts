// In the lab's own font. layoutSystemFonts.test.ts tests the same without it.

import { expect, test } from "@jest/globals";

import { LabPage } from "./labPage.js";
import { testLayout } from "./layout.js";

const lab = new LabPage();
testLayout(lab);

test("the lab brings the font of its text, and asks for it once and early", async () => {
  const fonts: string[] = [];
  const page = await lab.open();
  page.on("request", (request) => /\/inter-/.test(request.url()) && fonts.push(request.url()));
  await lab.enter("sentence", page);
  const { loaded, preloaded } = await page.evaluate(async () => ({
    loaded: (await document.fonts.load("600 1rem Inter")).map(({ status }) => status),
    preloaded: document.querySelector<HTMLLinkElement>("head > :first-child[rel=preload][as=font]")?.href,
  }));
  expect(loaded).toEqual(["loaded"]);
  expect(fonts).toEqual([preloaded]);
  await page.close();
});
