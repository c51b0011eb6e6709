// Files on a web server and nothing else: no bundler, no configuration.

import { beforeEach, describe, expect, test } from "@jest/globals";

import { ISOLATION } from "../../browser/staticServer.js";
import { expectBothWays, expectThreaded, outcomeIn, useFiles } from "../pages.js";
import { pageProject } from "../pageProject.js";

const project = pageProject();

describe.each(["mainCore.js", "mainWorker.js"])("%s", (script) => {
  beforeEach(() => useFiles(project.consumer.folder, script));

  const outcomeUnder = (policy: string) =>
    outcomeIn(project.browser, project.consumer.folder, { ...ISOLATION, "Content-Security-Policy": policy });

  test("computes, with threads where the page is isolated", () =>
    expectBothWays(project.browser, project.consumer.folder));

  test("computes under script-src 'self' 'wasm-unsafe-eval'", async () => {
    expectThreaded(await outcomeUnder("default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"));
  });

  test("under script-src 'self' says what to allow", async () => {
    const outcome = await outcomeUnder("script-src 'self'");
    expect(outcome.code).toBe("ASSET_BLOCKED");
    expect(outcome.hint).toContain("'wasm-unsafe-eval'");
  });
});
