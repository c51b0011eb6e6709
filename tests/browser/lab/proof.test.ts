import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import Ajv from "ajv";
import { type Browser, type Page } from "playwright-core";

import { serveDemo } from "../../lab/demoCommand.js";
import { CHROMIUM_FLAG } from "../../webgpu/softwareAdapter.mjs";
import { launchChromium } from "../chromium.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SCHEMA = new URL("../../bench/proof/schema.json", import.meta.url);

let browser: Browser;
let server: Awaited<ReturnType<typeof serveDemo>>;

beforeAll(async () => {
  server = await serveDemo([]);
});
afterEach(() => browser.close());
afterAll(() => server.stop());

async function openRoom(...flags: string[]): Promise<Page> {
  browser = await launchChromium(...flags);
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  await page.goto(`${server.url}#/device`);
  await page.waitForSelector("[data-room=device][aria-busy=false]");
  await page.locator("summary", { hasText: "Is its GPU right, and how fast?" }).click();
  return page;
}

test("the lab proves the GPU, shows how far it is, ends when it is asked to, and gives what it has as a file", async () => {
  const page = await openRoom("--enable-unsafe-webgpu", CHROMIUM_FLAG);
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).host));
  expect(await page.getByRole("button", { name: "Cancel" }).count()).toBe(0);
  await page.getByRole("button", { name: "Prove this GPU" }).click();
  expect(await page.getByRole("button", { name: "Quick check" }).isDisabled()).toBe(true);
  const bar = page.getByRole("progressbar", { name: "Progress of the proof" });
  await page.waitForFunction((one) => (one as HTMLProgressElement).value > 2, await bar.elementHandle());
  await page.getByRole("button", { name: "Cancel" }).click();
  const verdict = page.getByText(/none is wrong\. It was cancelled\./);
  await verdict.waitFor();
  expect(await verdict.getAttribute("role")).toBe("status");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);

  await page.evaluate(AXE);
  const violations = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: { id: string }[] }> } };
    return (await axe.run()).violations.map(({ id }) => id);
  });
  expect(violations).toEqual([]);

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save gpu-proof.json" }).click(),
  ]);
  const proof = JSON.parse(readFileSync(await download.path(), "utf8")) as {
    hosts: { state: string; table: { ran: number; right: number; wrong: object[] }[] }[];
  };
  const validate = new Ajv().compile(JSON.parse(readFileSync(SCHEMA, "utf8")) as object);
  void validate(proof);
  expect(validate.errors).toBeNull();
  const [{ state, table }] = proof.hosts as [(typeof proof.hosts)[0]];
  expect(state).toBe("cancelled");
  expect(table[0]!.right).toBeGreaterThan(0);
  expect(table.map(({ ran, right, wrong }) => [ran - right, wrong])).toEqual(table.map(() => [0, []]));
  expect([...hosts].filter((host) => host !== new URL(server.url).host && host !== "")).toEqual([]);
});

test("without a GPU it says that it cannot run", async () => {
  const page = await openRoom();
  await page.getByRole("button", { name: "Quick check" }).click();
  await page.getByText("It cannot run: there is no WebGPU adapter here.").waitFor();
  expect(await page.getByRole("button", { name: "Prove this GPU" }).isEnabled()).toBe(true);
});
