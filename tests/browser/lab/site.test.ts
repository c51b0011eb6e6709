import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { BrowserContext, Page } from "playwright-core";

import { serve } from "../../../web/demo/cli/server.js";
import { serveFolder } from "../staticServer.js";
import { LabPage } from "./labPage.js";

const lab = new LabPage();

/** Makes the folder, with the options of `buildSite`. Returns its path. */
function madeWith(options: object): string {
  const program = `import { buildSite } from "./web/demo/site.mjs"; console.log(buildSite(${JSON.stringify(options)}));`;
  const cwd = fileURLToPath(new URL("../../../", import.meta.url));
  return execFileSync(process.execPath, ["--input-type=module", "-e", program], { cwd, encoding: "utf8" }).trim();
}

test("with its address, other sites find a picture of the lab; without it none is promised", () => {
  const tagsIn = (folder: string) => {
    const tags = readFileSync(`${folder}/index.html`, "utf8").matchAll(/<meta property="(.*?)" content="(.*?)" \/>/g);
    return Object.fromEntries([...tags].map(([, name, content]) => [name!, content!]));
  };
  const folder = madeWith({ address: "https://example.org/lab" });
  const tags = tagsIn(folder);
  expect(tags).toMatchObject({ "og:url": "https://example.org/lab/", "twitter:card": "summary_large_image" });
  const picture = tags["og:image"]!.replace("https://example.org/lab", folder);
  expect(readFileSync(picture).subarray(1, 4).toString()).toBe("PNG");
  expect(tagsIn(madeWith({}))).toEqual({});
});

describe("the static site, on a host without headers", () => {
  let site: { server: Server; url: string };
  let context: BrowserContext;
  beforeAll(async () => {
    site = await serve({ folders: { "/": madeWith({}) }, port: 0, isolation: false });
    context = await lab.browser.newContext();
  });
  afterAll(async () => {
    await context.close();
    site.server.closeAllConnections();
    site.server.close();
  });

  test("isolates itself, and works without a network after the first visit", async () => {
    const visit = await context.newPage();
    await visit.goto(site.url);
    await visit.waitForFunction(() => crossOriginIsolated);
    await lab.ready("lesson", visit);
    await context.setOffline(true);
    await visit.reload();
    await lab.ready("lesson", visit);
    await visit.locator(".flow").waitFor();
    await visit.getByRole("link", { name: "Positions", exact: true }).click();
    await lab.ready("positions", visit);
    expect(await visit.locator(".failure:visible").count()).toBe(0);
    await context.setOffline(false);
  });

  test("keeps the font of its text, with its licence", async () => {
    const visit = await context.newPage();
    await visit.goto(site.url);
    await lab.ready("lesson", visit);
    await context.setOffline(true);
    const kept = await visit.evaluate(async () => {
      const { href } = document.querySelector<HTMLLinkElement>("link[rel=preload][as=font]")!;
      const { status } = await new FontFace("kept", `url(${href})`).load();
      return { status, licence: await (await fetch("./Inter-LICENSE.txt")).text() };
    });
    expect(kept).toEqual({ status: "loaded", licence: expect.stringContaining("SIL OPEN FONT LICENSE") });
    await context.setOffline(false);
    await visit.close();
  });

  test("keeps the model when it is first used, and not before", async () => {
    const visit = await context.newPage();
    await visit.goto(site.url);
    await lab.ready("lesson", visit);
    const isKept = () => visit.evaluate(async () => (await caches.match("model/weights-4of4")) !== undefined);
    expect(await isKept()).toBe(false);
    await visit.getByLabel("Your sentence").fill("A sentence of mine.");
    await visit.getByText("5 tokens.").waitFor();
    while (!(await isKept())) await visit.waitForTimeout(100);
    await context.setOffline(true);
    await visit.reload();
    await visit.getByText("5 tokens.").waitFor();
    await context.setOffline(false);
    await visit.close();
  });
});

describe("a new version of the static site, on a host whose files may be kept for ten minutes", () => {
  let folder: string;
  let host: Awaited<ReturnType<typeof serveFolder>>;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "headwise-site-"));
    cpSync(madeWith({}), folder, { recursive: true });
    host = await serveFolder(folder, { "Cache-Control": "max-age=600" });
  });
  afterAll(() => {
    host.stop();
    rmSync(folder, { recursive: true });
  });

  /** Puts another version in the place of the first. */
  function replaceSite(): void {
    const change = (name: string, words: string, others: string) => {
      const file = path.join(folder, name);
      writeFileSync(file, readFileSync(file, "utf8").replace(words, others));
    };
    change("index.html", "<head>", '<head><meta name="second" />');
    change("serviceWorker.js", "`${NAME}", "`${NAME}second");
  }

  test("comes whole, and keeps the model", async () => {
    const context = await lab.browser.newContext();
    const before = await context.newPage();
    await before.goto(host.url);
    await before.waitForFunction(() => crossOriginIsolated);
    await before.getByLabel("Your sentence").fill("A sentence of mine.");
    await before.getByText("5 tokens.").waitFor();
    const isKept = (page: Page) => page.evaluate(async () => (await caches.match("model/weights-4of4")) !== undefined);
    while (!(await isKept(before))) await before.waitForTimeout(100);

    replaceSite();
    await before.evaluate(async () => (await navigator.serviceWorker.ready).update());
    const isWaiting = (page: Page) => page.evaluate(async () => (await navigator.serviceWorker.ready).waiting !== null);
    while (!(await isWaiting(before))) await before.waitForTimeout(100);
    await before.close();
    const after = await context.newPage();
    // The browser ends the old worker some time after its last page is closed. A page that is opened before keeps it.
    for (await after.goto(host.url); await isWaiting(after); await after.goto(host.url)) {
      await after.goto("about:blank");
      await after.waitForTimeout(500);
    }
    await after.reload();
    expect(await after.locator("meta[name=second]").count()).toBe(1);
    expect(await isKept(after)).toBe(true);
    await context.close();
  });
});
