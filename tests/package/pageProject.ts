import path from "node:path";

import { afterAll, beforeAll } from "@jest/globals";
import type { Browser } from "playwright-core";

import { emptyConsumer, type Consumer } from "./consumer.js";
import { openBrowser } from "./pages.js";
import { run } from "./programs.js";

export const script = (bundler: string) => path.resolve(`tests/package/bundlers/${bundler}.mjs`);

/** A project with the page of consumers/page, and a browser to open it in, for the tests of this file. */
export function pageProject(): { readonly browser: Browser; readonly consumer: Consumer } {
  const project = {} as { browser: Browser; consumer: Consumer };
  beforeAll(async () => {
    project.browser = await openBrowser();
    project.consumer = await emptyConsumer();
    await project.consumer.add("page");
  });
  afterAll(async () => {
    await project.browser.close();
    await project.consumer.remove();
  });
  return project;
}

/** Bundles an entry of the project into its folder `site`, by a script of bundlers/. */
export async function bundle(bundler: string, { folder }: Consumer, entry = "main.js"): Promise<string> {
  await run(process.execPath, [script(bundler), folder, entry]);
  return path.join(folder, "site");
}
