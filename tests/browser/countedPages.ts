import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import type { Browser, BrowserContext, Page } from "playwright-core";

const DIST = new URL("../../dist/", import.meta.url);

/** Node writes its own counts into this folder, in the same format, when it ends. */
const FOLDER = process.env["NODE_V8_COVERAGE"];

let written = 0;

/**
 * Adds what the pages of a browser run of dist/ to the coverage that Node counts, if it counts. A page's counts are
 * written when the page, its context or the browser is closed. Workers of a page are not counted.
 */
export function countPages(browser: Browser): Browser {
  if (FOLDER === undefined) return browser;
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => countedContext(await newContext(options));
  writeBeforeClose(browser, () => browser.contexts().flatMap((context) => context.pages()));
  return browser;
}

function countedContext(context: BrowserContext): BrowserContext {
  const newPage = context.newPage.bind(context);
  context.newPage = async () => countedPage(await newPage());
  writeBeforeClose(context, () => context.pages());
  return context;
}

const counted = new Set<Page>();

async function countedPage(page: Page): Promise<Page> {
  await page.coverage.startJSCoverage({ resetOnNavigation: false });
  counted.add(page);
  writeBeforeClose(page, () => [page]);
  return page;
}

/** `of` can be closed more than once, and a page can be closed with its context. */
function writeBeforeClose(of: { close: (...options: never[]) => Promise<void> }, pages: () => readonly Page[]) {
  const close = of.close.bind(of);
  of.close = async (...options) => {
    for (const page of pages()) if (counted.delete(page)) await writeCounts(page);
    await close(...options);
  };
}

async function writeCounts(page: Page): Promise<void> {
  const entries = await page.coverage.stopJSCoverage().catch(() => []); // the page has crashed
  const result = entries.flatMap(({ url, source, ...counts }) => {
    const file = new URL(`.${new URL(url).pathname}`, DIST);
    return isServed(file, source) ? [{ ...counts, url: file.href }] : [];
  });
  const file = path.join(FOLDER!, `coverage-page-${process.pid}-${Date.now()}-${written++}.json`);
  writeFileSync(file, JSON.stringify({ result }));
}

/** Whether a script is a file of dist/, unchanged. */
function isServed(file: URL, source: string | undefined): boolean {
  try {
    return readFileSync(fileURLToPath(file), "utf8") === source;
  } catch {
    return false; // a script of another site, or of a test
  }
}
