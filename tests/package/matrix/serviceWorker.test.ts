// Service workers may not import() and have no Worker: headwise/inline is for them, and for extensions' workers.

import { beforeAll, expect, test } from "@jest/globals";
import { chromium } from "playwright-core";

import { COMPLETE_CHROMIUM } from "../../browser/launchOptions.mjs";
import { WAIT_MILLISECONDS } from "../../hangLimits.mjs";
import { firstRows } from "../expected.js";
import { closeTo, outcomeIn, type Outcome } from "../pages.js";
import { pageProject } from "../pageProject.js";

const project = pageProject();
beforeAll(async () => {
  await project.consumer.add("serviceWorker");
  await project.consumer.add("extension");
});

test("headwise/inline computes in a service worker, unbundled", async () => {
  const outcome = await outcomeIn(project.browser, project.consumer.folder, {});
  expect(outcome).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
});

test("headwise/inline computes in the service worker of an extension, of manifest version 3", async () => {
  const { folder } = project.consumer;
  const own = [`--disable-extensions-except=${folder}`, `--load-extension=${folder}`];
  const extended = {
    ...COMPLETE_CHROMIUM,
    args: [...COMPLETE_CHROMIUM.args, ...own],
    ignoreDefaultArgs: ["--disable-extensions"],
  };
  const context = await chromium.launchPersistentContext("", extended);
  context.setDefaultTimeout(WAIT_MILLISECONDS);
  try {
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
    const outcome = await worker.evaluate(async () => {
      const scope = globalThis as unknown as { outcome?: Promise<Outcome> };
      while (!scope.outcome) await new Promise((resolve) => setTimeout(resolve, 20)); // its script may not have run yet
      return scope.outcome;
    });
    expect(outcome).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
  } finally {
    await context.close();
  }
});
