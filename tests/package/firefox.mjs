// node firefox.mjs PROGRAM URL: opens the page in headless Firefox and prints, as JSON, the version of the browser and what
// the page leaves in `outcome`.

import puppeteer from "puppeteer-core";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

const [executablePath, url] = process.argv.slice(2);
const browser = await puppeteer.launch({
  ...{
    browser: "firefox",
    executablePath,
    headless: true,
    timeout: WAIT_MILLISECONDS,
    protocolTimeout: WAIT_MILLISECONDS,
  },
  extraPrefsFirefox: { "dom.webgpu.enabled": true, "gfx.webgpu.ignore-blocklist": true },
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(WAIT_MILLISECONDS);
  await page.goto(url);
  await page.waitForFunction(() => "outcome" in globalThis);
  const [version] = /[\d.]+/.exec(await browser.version());
  console.log(JSON.stringify({ version, outcome: await page.evaluate(() => globalThis.outcome) }));
} finally {
  await browser.close();
}
