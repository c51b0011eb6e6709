import { readFileSync } from "node:fs";

import { expect, test } from "@jest/globals";

import { suiteFiles, tableText } from "../cases/suiteFiles.js";

test("the files of attention-conformance are those that the tables give (node tests/cases/writeSuite.mjs)", () => {
  for (const [name, text] of Object.entries(suiteFiles(tableText()))) {
    const file = new URL(`../attention-conformance/cases/${name}`, import.meta.url);
    expect([name, readFileSync(file, "utf8") === text]).toEqual([name, true]);
  }
});
