// What headwise/worker says if its worker does not start.

import { readFileSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Browser } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { openPage, type Headwise, type TestWindow } from "./page.js";
import { ISOLATION, serveDist } from "./staticServer.js";
import { assetErrorLike } from "../web/assetErrorLike.js";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

const JAVASCRIPT = { "content-type": "text/javascript" };
const HTML = { "content-type": "text/html" };
const SCRIPT = readFileSync(new URL("../../dist/worker-entry.js", import.meta.url), "utf8");

/** The error of createAttention in a page. */
async function errorIn(opening: Parameters<typeof openPage>[1]) {
  const { page, troubles, close } = await openPage(browser, { entry: "/worker.js", ...opening });
  const error = await page.evaluate(async () => {
    const { headwise } = window as unknown as TestWindow;
    try {
      await headwise.createAttention();
      return undefined;
    } catch (thrown) {
      const { name, code, message, hint } = thrown as InstanceType<Headwise["HeadwiseError"]>;
      return { name, code, message, hint };
    }
  });
  await close();
  expect(troubles).toEqual([]);
  return error;
}

test("the file for backend auto that is missing is an error, and heals", async () => {
  const answers: Record<string, { status: number; body: string }> = { "auto-engine.js": { status: 404, body: "none" } };
  const { page, close } = await openPage(browser, { entry: "/worker.js", answers });
  const opening = () =>
    page.evaluate(async () => {
      const { headwise } = window as unknown as TestWindow;
      return headwise.createAttention().then(
        (hw) => (hw.dispose(), "it was opened"),
        ({ name, code, message }: InstanceType<Headwise["HeadwiseError"]>) => ({ name, code, message }),
      );
    });
  expect(await opening()).toEqual({
    name: "AssetError",
    code: "ASSET_NOT_FOUND",
    message: expect.stringMatching(/^createAttention: \S+auto-engine\.js /),
  });
  delete answers["auto-engine.js"];
  expect(await opening()).toBe("it was opened");
  await close();
});

describe("the script of the worker", () => {
  test.each([
    [
      "is not there",
      { status: 404, headers: HTML, body: "<!doctype html>" },
      "ASSET_NOT_FOUND",
      /: the engine's worker did not start: http:\S+worker-entry\.js was not found: HTTP 404, content type text\/html, first bytes 3c 21/,
      /^Serve this file there\. If a bundler left it behind, copy it there from node_modules\/headwise\/dist\./,
    ],
    [
      "is the page of an application that answers every address",
      { headers: HTML, body: "<html></html>" },
      "ASSET_INVALID",
      /worker-entry\.js is not a script: HTTP 200, content type text\/html, first bytes 3c 68/,
      /^Serve this file there\. If a bundler left it behind, copy it there from node_modules\/headwise\/dist\./,
    ],
    [
      "is outside of what Vite serves",
      { status: 403, headers: HTML, body: "<p>The request id is outside of Vite serving allow list.</p>" },
      "ASSET_NOT_FOUND",
      /was not found: HTTP 403/,
      /server\.fs\.allow/,
    ],
    [
      "throws",
      { headers: JAVASCRIPT, body: 'throw new Error("of the script")' },
      "ASSET_INVALID",
      /worker-entry\.js failed: .*Error: of the script/,
      /^Serve this file there/,
    ],
  ])("%s", async (_, answer, code, message, hint) => {
    expect(await errorIn({ answers: { "worker-entry.js": answer } })).toEqual(assetErrorLike(code, message, hint));
  });

  test("has no header that isolates, in a page that is isolated", async () => {
    const answer = { headers: { ...JAVASCRIPT, "Cross-Origin-Embedder-Policy": "unsafe-none" }, body: SCRIPT };
    expect(await errorIn({ headers: ISOLATION, answers: { "worker-entry.js": answer } })).toEqual(
      assetErrorLike(
        "ASSET_BLOCKED",
        /is served without Cross-Origin-Embedder-Policy/,
        /: require-corp; or use headwise with/,
      ),
    );
  });

  test("is at an origin that does not let the page read it", async () => {
    const elsewhere = await serveDist(
      { "Access-Control-Allow-Origin": "*" },
      {
        "worker-entry.js": {
          headers: { ...JAVASCRIPT, "Access-Control-Allow-Origin": "http://a.example" },
          body: SCRIPT,
        },
      },
    );
    const error = await errorIn({ entry: `${elsewhere.url}worker.js` });
    elsewhere.stop();
    expect(error).toEqual(
      assetErrorLike("ASSET_BLOCKED", /worker-entry\.js could not be fetched: TypeError/, /^Serve the script with Access-Control-Allow-Origin/), // oxfmt-ignore
    );
  });
});

describe("a content security policy", () => {
  test.each(["worker-src 'none'", "worker-src 'none'; connect-src 'none'"])("%s is named", async (policy) => {
    expect(await errorIn({ headers: { "Content-Security-Policy": policy } })).toEqual(
      assetErrorLike(
        "ASSET_BLOCKED",
        /policy forbids http:\S+worker-entry\.js \(worker-src\)$/,
        /^Allow it with worker-src 'self'/,
      ),
    );
  });

  test("that forbids blobs is named if the package has another origin", async () => {
    const elsewhere = await serveDist({ "Access-Control-Allow-Origin": "*" });
    const headers = { "Content-Security-Policy": "worker-src 'self'" };
    const error = await errorIn({ headers, entry: `${elsewhere.url}worker.js` });
    elsewhere.stop();
    const hint = new RegExp(`^Allow it with worker-src blob: ${new URL(elsewhere.url).origin};`);
    expect(error).toEqual(assetErrorLike("ASSET_BLOCKED", /policy forbids/, hint));
  });

  test("that allows blobs, but not the script of another origin that they import, is suspected", async () => {
    const elsewhere = await serveDist({ "Access-Control-Allow-Origin": "*" });
    const headers = { "Content-Security-Policy": "worker-src blob:" };
    const error = await errorIn({ headers, entry: `${elsewhere.url}worker.js` });
    elsewhere.stop();
    const hint = new RegExp(`^Allow it with worker-src blob: ${new URL(elsewhere.url).origin};`);
    const message = /was not run: HTTP 200.*a content security policy may forbid it$/;
    expect(error).toEqual(assetErrorLike("ASSET_BLOCKED", message, hint));
  });
});

describe("a sandboxed frame, whose origin is opaque,", () => {
  /** What createAttention of headwise/worker says in a frame with sandbox="allow-scripts". */
  async function outcomeInFrame(allowed: string): Promise<unknown> {
    const readable = { "Access-Control-Allow-Origin": "*" };
    const answer = { headers: { ...JAVASCRIPT, "Access-Control-Allow-Origin": allowed }, body: SCRIPT };
    const server = await serveDist(readable, { "worker-entry.js": answer });
    const page = await browser.newPage();
    await page.goto(server.url);
    const outcome = await page.evaluate(async (address) => {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.srcdoc = `<script type="module">
        import { createAttention } from "${address}worker.js";
        const send = (outcome) => parent.postMessage(outcome, "*");
        createAttention().then(
          ({ report }) => send({ threads: report.threads }),
          ({ name, code, message, hint }) => send({ name, code, message, hint }),
        );
      </script>`;
      const said = new Promise((resolve) => addEventListener("message", ({ data }) => resolve(data), { once: true }));
      document.body.append(frame);
      return said;
    }, server.url);
    await page.close();
    server.stop();
    return outcome;
  }

  test("cannot read the script: the error says so and how to allow it", async () => {
    expect(await outcomeInFrame("http://a.example")).toEqual(
      assetErrorLike("ASSET_BLOCKED", /opaque origin \(a sandboxed frame\): http:\S+worker-entry\.js could not be fetched/, /allow-same-origin/), // oxfmt-ignore
    );
  });

  test("computes where the server lets every origin read the script", async () => {
    expect(await outcomeInFrame("*")).toEqual({ threads: 1 });
  });
});
