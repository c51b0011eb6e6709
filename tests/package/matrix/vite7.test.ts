// Vite 7 and older move packages away from their files in development, so one line of configuration is needed.

import { copyFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { ISOLATION } from "../../browser/staticServer.js";
import { expectThreaded, outcomeAt } from "../pages.js";
import { pageProject } from "../pageProject.js";
import { describeWith, tool } from "../tools.js";
import { withViteServer } from "../viteServer.js";

const LINE = 'optimizeDeps: { exclude: ["headwise"] }';

const project = pageProject();

describeWith([tool("vite7")], "Vite 7", () => {
  test("the error names the line, and with the line it works", async () => {
    const { folder } = project.consumer;
    copyFileSync(path.join(folder, "mainCore.js"), path.join(folder, "main.js"));
    const outcome = () => withViteServer(folder, ISOLATION, (url) => outcomeAt(project.browser, url), "vite7");
    expect((await outcome()).hint).toContain(LINE);
    writeFileSync(path.join(folder, "vite.config.js"), `export default { ${LINE} };\n`);
    expectThreaded(await outcome());
  });
});
