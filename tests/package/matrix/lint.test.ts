// The two linters of npm packages, on the packed file.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { pack } from "../consumer.js";
import { run } from "../programs.js";
import { describeWith, tool } from "../tools.js";

let folder: string;
let tarball: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "headwise-lint-"));
  tarball = await pack(folder);
});
afterAll(() => rm(folder, { recursive: true }));

const publint = tool("publint/src/cli.js");
describeWith([publint], "publint", () => {
  test("has nothing to say, suggestions included", async () => {
    expect(await run(process.execPath, [publint, "run", "--strict", tarball])).toContain("All good!");
  });
});

const attw = tool("@arethetypeswrong/cli/dist/index.js");
describeWith([attw], "are the types wrong?", () => {
  // It ends with an error if it finds a problem.
  const reportOf = (...flags: string[]) => run(process.execPath, [attw, tarball, ...flags]);

  test("They are not, for every way to resolve an ES module", async () => {
    expect(await reportOf("--profile", "esm-only")).toContain('"headwise/viz"');
  });

  test("They are not, for every way to resolve what has a build for require", async () => {
    const required = ["inline", "formula", "onnx", "train", "models", "inspect", "viz", "viz/react", "react"];
    expect(await reportOf("--profile", "node16", "--entrypoints", ...required)).toContain("🟢 (CJS)");
  });
});
