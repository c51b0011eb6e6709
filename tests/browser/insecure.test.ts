// A page served by http under another name than localhost. It is no secure context, so with any headers it has no
// isolation and no locks.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Browser } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { openPage, type TestWindow } from "./page.js";
import { ISOLATION } from "./staticServer.js";

const HOST = "headwise.test";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium(`--host-resolver-rules=MAP ${HOST} 127.0.0.1`);
});
afterAll(() => browser.close());

describe.each(["/index.js", "/worker.js"])("%s in an insecure page", (entry) => {
  let opened: Awaited<ReturnType<typeof openPage>>;
  beforeAll(async () => {
    opened = await openPage(browser, { host: HOST, headers: ISOLATION, entry });
  });
  afterAll(() => opened.close());

  test("computes on one thread and says why", async () => {
    const { isSecure, report, output } = await opened.page.evaluate(async () => {
      const { headwise, floats } = window as unknown as TestWindow;
      const hw = await headwise.createAttention({ threads: 2 });
      const x = floats(3, 8, 4);
      const { output } = await hw.scaledDotProductAttention(x, x, x);
      hw.dispose();
      return { isSecure: isSecureContext, report: hw.report, output: Array.from(output.data) };
    });
    expect(isSecure).toBe(false);
    expect(report.threads).toBe(1);
    expect(report.reasons["threads"]).toMatch(
      /^page is not cross-origin isolated \(COOP\/COEP\): serve it by https and /,
    );
    expect(output.every(Number.isFinite)).toBe(true);
    expect(opened.troubles).toEqual([]);
  });
});

test("headwise/worker there says that its worker may end unnoticed, and a signal ends the wait", async () => {
  const { page, close } = await openPage(browser, { host: HOST, entry: "/worker.js" });
  const { reason, ending, after } = await page.evaluate(async () => {
    const { headwise, floats, recordWorkers } = window as unknown as TestWindow;
    const workers = recordWorkers();
    const hw = await headwise.createAttention();
    const x = floats(4, 2048, 64);
    const call = hw.scaledDotProductAttention(x, x, x, { signal: AbortSignal.timeout(500) });
    Worker.prototype.terminate.call(workers.at(-1)!); // ends the worker without the Worker object, as the browser would
    const ending = await call.then(
      () => "it ended well",
      (error: Error) => error.name,
    );
    hw.dispose();
    const after = await hw.scaledDotProductAttention(x, x, x).catch((error: { code: string }) => error.code);
    return { reason: hw.report.reasons["worker"], ending, after };
  });
  await close();
  expect(reason).toMatch(/not served by https.*give calls a signal/);
  expect({ ending, after }).toEqual({ ending: "TimeoutError", after: "DISPOSED" });
});
