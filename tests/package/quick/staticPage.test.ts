// Files on a web server and nothing else: no bundler, no configuration.

import { beforeAll, expect, test } from "@jest/globals";

import { ISOLATION } from "../../browser/staticServer.js";
import { pageProject } from "../pageProject.js";
import { expectBothWays, expectThreaded, nameFiles, outcomeIn } from "../pages.js";

const project = pageProject();
beforeAll(() => nameFiles(project.consumer.folder));

test("it computes, with threads where the page is isolated", () =>
  expectBothWays(project.browser, project.consumer.folder));

test("it computes under script-src 'self' 'wasm-unsafe-eval'", async () => {
  const policy = { "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" };
  expectThreaded(await outcomeIn(project.browser, project.consumer.folder, { ...ISOLATION, ...policy }));
});

test("under script-src 'self' the error says what to allow", async () => {
  const policy = { "Content-Security-Policy": "script-src 'self'" };
  const outcome = await outcomeIn(project.browser, project.consumer.folder, { ...ISOLATION, ...policy });
  expect(outcome.code).toBe("ASSET_BLOCKED");
  expect(outcome.hint).toContain("'wasm-unsafe-eval'");
});
