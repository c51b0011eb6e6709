import type { Browser, Page } from "playwright-core";

/** As much as tells which room it is, and what it says of an error. */
const LONGEST = 3000;
/** A page may be what hangs. */
const ANSWER_MILLISECONDS = 10_000;

/** Jest's environment calls this when a test has failed, before hooks close what the test has opened: plainGlobals.mjs. */
interface Told {
  onFailure?: () => Promise<void>;
}

/** If a test fails, the log says what the pages of this browser show. That an element did not come does not tell why. */
export function tellWhatPagesShow(browser: Browser): Browser {
  const told = globalThis as Told;
  const before = told.onFailure;
  told.onFailure = async () => {
    await before?.();
    const pages = browser.contexts().flatMap((context) => context.pages());
    const shown = await Promise.all(pages.map(async (page) => `${page.url()}\n${await textOf(page)}`));
    console.log(["When the test failed, the pages were:", ...shown].join("\n\n"));
  };
  return browser;
}

async function textOf(page: Page): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const noAnswer = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("(it does not answer)"), ANSWER_MILLISECONDS);
  });
  const text = page.evaluate(() => document.body.innerText).catch((error: Error) => `(${error.message})`);
  const first = await Promise.race([text, noAnswer]);
  clearTimeout(timer);
  return first.slice(0, LONGEST);
}
