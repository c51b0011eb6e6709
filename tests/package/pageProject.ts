import { copyFile, cp, rm } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll } from "@jest/globals";
import type { Browser } from "playwright-core";

import { launchChromium } from "../browser/chromium.js";
import { emptyConsumer, type Consumer } from "./consumer.js";
import { run } from "./programs.js";

export const script = (bundler: string) => path.resolve(`tests/package/bundlers/${bundler}.mjs`);

/** A project with the page of consumers/page, and a browser to open it in, for the tests of this file. */
export function pageProject(): { readonly browser: Browser; readonly consumer: Consumer } {
  const project = {} as { browser: Browser; consumer: Consumer };
  beforeAll(async () => {
    project.browser = await launchChromium();
    project.consumer = await emptyConsumer();
    await project.consumer.add("page");
  });
  afterAll(async () => {
    await project.browser.close();
    await project.consumer.remove();
  });
  return project;
}

export const distOf = ({ folder }: Consumer) => path.join(folder, "node_modules/headwise/dist");

/** Copies the engine's files, as a user does whose bundler does not. */
export const copyAssets = (consumer: Consumer, folder: string) =>
  cp(path.join(distOf(consumer), "wasm"), folder, { recursive: true });

/**
 * Bundles the page, with one of its scripts as main.js, by a program of bundlers/. Gives the folder to serve.
 *
 * @param options - More arguments of the program.
 */
export async function bundle(
  bundler: string,
  { folder }: Consumer,
  main = "mainCore.js",
  ...options: readonly string[]
): Promise<string> {
  const site = path.join(folder, "site");
  await rm(site, { recursive: true, force: true });
  await copyFile(path.join(folder, main), path.join(folder, "main.js"));
  await run(process.execPath, [script(bundler), folder, ...options]);
  return site;
}
