// Next, by both of its bundlers. Pages are rendered in Node first, where importing headwise must do nothing.

import { readFileSync } from "node:fs";
import path from "node:path";

import { beforeAll, expect, test } from "@jest/globals";

import { expectBothWays } from "../pages.js";
import { pageProject } from "../pageProject.js";
import { run } from "../programs.js";

const MINUTES = 60_000;
const NEEDED = ["next", "react", "react-dom"];

const project = pageProject();
beforeAll(async () => {
  await project.consumer.add("next");
  const { dependencies } = JSON.parse(readFileSync("tests/package/package.json", "utf8")) as {
    dependencies: Record<string, string>;
  };
  const packages = NEEDED.map((name) => `${name}@${dependencies[name]}`);
  const flags = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...flags, ...packages], { cwd: project.consumer.folder });
}, 3 * MINUTES);

test.each(["--turbopack", "--webpack"])(
  "next build %s",
  async (bundler) => {
    const { folder } = project.consumer;
    const next = path.join(folder, "node_modules/next/dist/bin/next");
    const said = await run(process.execPath, [next, "build", bundler], { cwd: folder, timeout: 2 * MINUTES });
    expect(said).not.toMatch(/warn/i);
    await expectBothWays(project.browser, path.join(folder, "site"));
  },
  3 * MINUTES,
);
