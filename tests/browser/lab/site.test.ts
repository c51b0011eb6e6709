import { execFileSync } from "node:child_process";
import { type Server } from "node:http";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type BrowserContext } from "playwright-core";

import { serve } from "../../../web/demo/cli/server.js";
import { LabPage } from "./labPage.js";

const lab = new LabPage();

describe("the static site, on a host without headers", () => {
  let site: { server: Server; url: string };
  let context: BrowserContext;
  beforeAll(async () => {
    const folder = execFileSync(process.execPath, ["web/demo/site.mjs"], {
      cwd: fileURLToPath(new URL("../../../", import.meta.url)),
      encoding: "utf8",
    }).trim();
    site = await serve({ folders: { "/": folder }, port: 0, isolation: false });
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
    await lab.ready("sentence", visit);
    await visit.waitForFunction(async () => (await caches.match("model/vocab.json")) !== undefined);
    await context.setOffline(true);
    await visit.reload();
    await lab.ready("sentence", visit);
    await visit.click("text=Flash");
    await lab.ready("flash", visit);
    expect(await visit.locator(".failure:visible").count()).toBe(0);
    await context.setOffline(false);
  });
});
