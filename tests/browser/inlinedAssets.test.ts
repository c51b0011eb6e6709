// A bundler may inline the engine's files into the page's script, as `data:` addresses.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Browser } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { ISOLATION, serveFolder } from "./staticServer.js";

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));
const vite = fileURLToPath(new URL("../../node_modules/vite/bin/vite.js", import.meta.url));
const run = promisify(execFile);

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

describe.each(["index.js", "worker.js"])("%s whose files Vite has inlined", (entry) => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "headwise-inlined-"));
    await writeFile(path.join(folder, "index.html"), '<!doctype html><script type="module" src="main.js"></script>');
    await writeFile(
      path.join(folder, "main.js"),
      `import { createAttention } from ${JSON.stringify(path.join(dist, entry))};
      window.outcome = createAttention({ threads: 2 }).then(
        async (hw) => {
          const ones = { data: new Float32Array(8).fill(1), shape: [2, 4] };
          const { output } = await hw.scaledDotProductAttention(ones, ones, ones);
          return { threads: hw.report.threads, reason: hw.report.reasons.threads, value: output.data[0] };
        },
        ({ name, code, message, hint }) => ({ name, code, message, hint }),
      );`,
    );
    await run(process.execPath, [vite, "build", folder, "--assetsInlineLimit", "10000000", "--logLevel", "error"]);
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** What an instance in the page says. */
  async function outcomeWith(headers: Readonly<Record<string, string>>): Promise<unknown> {
    const server = await serveFolder(path.join(folder, "dist"), headers);
    const page = await browser.newPage();
    await page.goto(server.url);
    const outcome = await page.evaluate(() => (window as unknown as { outcome: Promise<unknown> }).outcome);
    await page.close();
    server.stop();
    return outcome;
  }

  test("computes with threads in an isolated page", async () => {
    expect(await outcomeWith(ISOLATION)).toEqual({ threads: 2, value: 1 });
  });

  test("under a policy that forbids such files rejects with a short message", async () => {
    const policy = { "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" };
    const error = (await outcomeWith(policy)) as { code: string; message: string };
    expect(error).toMatchObject({ name: "AssetError", message: expect.stringMatching(/data:[a-z/]+(;base64)?,…/) });
    expect(error.message.length).toBeLessThan(500);
  });

  test("has one thread in any other page, and says why", async () => {
    const reason = expect.stringMatching(/^page is not cross-origin isolated/);
    expect(await outcomeWith({})).toEqual({ threads: 1, reason, value: 1 });
  });
});
