// A model by its name in the room Your model. The hub is a route of the browser: nothing leaves this machine.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { hub } from "headwise/models";
import type { BrowserContext, Page, Route } from "playwright-core";

import { CONFIGS, filesOf, randomWeights, shapesOf, textFile, type Files } from "../../web/smallModels.js";
import { LabPage } from "./labPage.js";

const ORIGIN = new URL(hub("owner/name")).origin;
const ASK = /^Ask huggingface\.co what it is \(fetches less than 1 MB\)$/;
const LOAD = /^Load the model: fetches about [\d.]+\sKB from huggingface\.co, and keeps them in this browser$/;

/** With so many words, the weights are larger than what is read of every file. */
const WORDS = 4000;
const large = { ...CONFIGS.gpt2, vocab_size: WORDS };
const weights = () => {
  const shapes = Object.entries(shapesOf("gpt2")).map(([name, shape]) => [name, /wte/.test(name) ? [WORDS, shape[1]!] : shape] as const); // oxfmt-ignore
  return randomWeights(Object.fromEntries(shapes));
};
const MODELS: Readonly<Record<string, Files>> = {
  "openai-community/gpt2": filesOf(large, weights()),
  "owner/t5": { ...filesOf(large, weights()), "config.json": textFile({ model_type: "t5" }) },
};

const lab = new LabPage();
let context: BrowserContext;
let page: Page;
/** What was asked of the hub, as in "openai-community/gpt2 config.json 0-65535". */
const asked: string[] = [];
let isOnline = true;

beforeAll(async () => {
  context = await lab.browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.route(`${ORIGIN}/**`, answer);
  page = await context.newPage();
});
afterAll(() => context.close());

async function answer(route: Route): Promise<void> {
  if (!isOnline) return route.abort("internetdisconnected");
  const [, name, file] = /^\/(.+?)\/resolve\/main\/(.+)$/.exec(new URL(route.request().url()).pathname)!;
  const headers = {
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "range",
    "access-control-expose-headers": "Content-Range, ETag",
  };
  if (route.request().method() === "OPTIONS") return route.fulfill({ status: 204, headers });
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(route.request().headers()["range"] ?? "")!;
  asked.push(`${name} ${file} ${first}-${last}`);
  const bytes = MODELS[name!]?.[file!];
  if (!bytes) return route.fulfill({ status: MODELS[name!] ? 404 : 401, headers });
  const part = bytes.subarray(Number(first), Number(last) + 1);
  const range = `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}`;
  return route.fulfill({ status: 206, headers: { ...headers, "content-range": range, etag: '"1"' }, body: Buffer.from(part) }); // oxfmt-ignore
}

const found = (words: RegExp) => page.locator(".main-finding", { hasText: words }).waitFor();
const ask = async (name: string) => {
  await page.getByLabel("Or by its name on huggingface.co").fill(name);
  await page.getByRole("button", { name: ASK }).click();
};
const blocks = () => asked.filter((one) => !one.endsWith("-65535"));

test("nothing is fetched before the visitor asks; then the sizes come, and the weights only when they are wanted", async () => {
  await lab.enter("tensors", page);
  expect(await lab.axe(page)).toEqual([]);
  await ask("openai community");
  await page.getByText("“openai community” is no name of a model: write OWNER/NAME, such as openai-community/gpt2.").waitFor(); // oxfmt-ignore
  expect(asked).toEqual([]);
  await ask("openai-community/gpt2");
  await found(
    /^A model of the type GPT-2 with 2 layers of 4 heads, 16 wide: .* weights, \d+\sKB in the files\. No weight/,
  );
  expect(asked).toContain("openai-community/gpt2 config.json 0-65535");
  expect(blocks()).toEqual([]);
  expect(await lab.axe(page)).toEqual([]);
  await page.getByRole("button", { name: LOAD }).click();
  await found(/^After “\d+” the model expects/);
  expect(blocks().every((one) => one.startsWith("openai-community/gpt2 model.safetensors"))).toBe(true);
  expect(blocks().length).toBeGreaterThan(0);
});

test("after a reload its name is offered as kept, nothing is fetched, and its weights come from the browser", async () => {
  asked.length = 0;
  await page.reload();
  await lab.ready("tensors", page);
  const kept = page.getByRole("button", { name: "openai-community/gpt2", exact: true });
  await kept.waitFor();
  expect(asked).toEqual([]);
  await kept.click();
  await page.getByRole("button", { name: LOAD }).click();
  await found(/^After “\d+” the model expects/);
  expect(blocks()).toEqual([]);
  await page.getByRole("button", { name: "Forget what is kept" }).click();
  await kept.waitFor({ state: "detached" });
  expect(await page.evaluate(() => caches.keys())).not.toContain("headwise-models");
});

test("an unknown name, a model of another kind and a missing network are told, with what to do", async () => {
  await ask("owner/nothing");
  await page.getByText(/huggingface\.co has no model “owner\/nothing” that everybody may read\. Look at the spelling/).waitFor(); // oxfmt-ignore
  await ask("owner/t5");
  await page.getByText(/owner\/t5 came from huggingface\.co, and it is no model that this page can run \(.*"t5".*\)\. Choose a GPT-2/).waitFor(); // oxfmt-ignore
  isOnline = false;
  await ask("openai-community/gpt2");
  await page.getByText(/huggingface\.co could not be reached\. Look at the network, and try again/).waitFor();
  isOnline = true;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: LOAD }).waitFor();
  await page.getByRole("button", { name: "Show the example" }).click();
  await found(/^After “s” the model expects “L”/);
});

test("the page of the lab may fetch from the hub, and from nowhere else", async () => {
  const { headers } = await fetch(lab.url);
  expect(headers.get("content-security-policy")).toContain(`connect-src 'self' ${ORIGIN} https://*.hf.co;`);
});

test("at the width of a phone the field and its buttons stay in the page", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});
