import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "@jest/globals";
import { type Browser } from "playwright-core";

import { ISOLATION, serveFolder } from "../browser/staticServer.js";
import { firstRows } from "./expected.js";

/** What consumers/page/main.js leaves in `outcome`. */
export interface Outcome {
  readonly backend?: string;
  readonly threads?: number;
  readonly variant?: string;
  /** Why not more threads. */
  readonly reason?: string;
  readonly rows?: readonly number[];
  /** Of the error, if there was one. */
  readonly code?: string;
  readonly message?: string;
  readonly hint?: string;
}

/** Opens the page and waits for its outcome; a page that reports none in time is an error that says why. */
export async function outcomeAt(browser: Browser, url: string): Promise<Outcome> {
  const page = await browser.newPage();
  const troubles: string[] = [];
  page.on("pageerror", ({ message }) => troubles.push(message));
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  try {
    await page.goto(url);
    await page.waitForFunction(() => "outcome" in globalThis);
    return await page.evaluate(() => (globalThis as unknown as { outcome: Promise<Outcome> }).outcome);
  } catch (cause) {
    throw new Error(`no outcome at ${url}: ${troubles.join("; ") || "and no complaint"}`, { cause });
  } finally {
    await page.close();
  }
}

/** The outcome of a page in a folder that is served with these headers. */
export async function outcomeIn(
  browser: Browser,
  folder: string,
  headers: Readonly<Record<string, string>>,
  page = "",
): Promise<Outcome> {
  const server = await serveFolder(folder, headers);
  try {
    return await outcomeAt(browser, server.url + page);
  } finally {
    server.stop();
  }
}

/** Computes the right numbers: with threads where the page is isolated, and with one and a reason where it is not. */
export async function expectBothWays(browser: Browser, folder: string, page?: string): Promise<void> {
  expectThreaded(await outcomeIn(browser, folder, ISOLATION, page));
  expectAlone(await outcomeIn(browser, folder, {}, page));
}

export function expectThreaded(outcome: Outcome): void {
  expect(outcome).toMatchObject({ threads: 2, rows: closeTo(firstRows) });
  expect(outcome.reason).toBeUndefined();
}

export function expectAlone(outcome: Outcome): void {
  expect(outcome).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
  expect(outcome.reason).toMatch(/page is not cross-origin isolated \(COOP\/COEP\)/);
}

export const closeTo = (values: readonly number[]): unknown => values.map((value) => expect.closeTo(value, 5));

/** Makes a script the page's main.js, with files in place of packages. */
export async function useFiles(folder: string, script = "mainCore.js", packages?: string): Promise<void> {
  const source = await readFile(path.join(folder, script), "utf8");
  await writeFile(path.join(folder, "main.js"), withFileNames(source, packages));
}

/** The same source with files in place of packages, as it must be where nothing resolves names. */
export const withFileNames = (source: string, packages = "./node_modules/headwise/dist"): string =>
  source.replace(/"headwise\/?(\w*)"/g, (_, entry: string) => `"${packages}/${entry || "index"}.js"`);
