import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { beforeAll, describe, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";

import { writeNpy } from "../../../web/demo/lab/rooms/tensors/files/npy.js";
import { CONFIGS, filesOf, randomWeights, shapesOf, textFile, type Files } from "../../web/smallModels.js";
import { LabPage } from "./labPage.js";
import { threadTimes } from "./pageThread.js";

const lab = new LabPage();
let page: Page;
beforeAll(async () => {
  page = await lab.open();
});

const given = (files: Files) =>
  Object.entries(files).map(([name, bytes]) => ({ name, mimeType: "", buffer: Buffer.from(bytes) }));
const gpt2 = () => filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2")));
const finding = () => page.textContent(".main-finding");
const bars = () => page.locator(".effect-bars output").allTextContents();
/** Chooses files, and loads the model that is planned. */
const load = async (selector: string, files: Parameters<Page["setInputFiles"]>[1]) => {
  await page.setInputFiles(selector, files);
  await page.getByRole("button", { name: "Load the model" }).click();
};
const found = (words: RegExp) => page.locator(".main-finding", { hasText: words }).waitFor();

describe("A model whose files are given", () => {
  test("is drawn as small maps of all heads, and computed in a worker", async () => {
    await lab.enter("tensors", page);
    const times = await threadTimes(page, "the lab opens a model", 200, async () => {
      await load("#files", given(gpt2()));
      await page.getByText(/A model of the type GPT-2 with 2 layers of 4 heads, 16 wide, and 29 tokens/).waitFor();
      await found(/^After “\d+” the model expects “\d+”, with/);
    });
    expect(times.workers).toBeGreaterThan(0);
    expect(await page.locator(".head-tile canvas").count()).toBe(8);
    expect(await page.locator(".token-strip button").count()).toBe(24);
    expect(await page.getByLabel("Numbers of tokens (none: random ones that are repeated)").isVisible()).toBe(true);
    await page.waitForFunction(() => location.hash === "#/tensors");
  });

  test("a head that is switched off changes the bars, the words and the address", async () => {
    const before = await bars();
    await page.getByLabel("layer 1 head 3 is on").uncheck();
    await found(/^Layer 1 head 3 is off: after “\d+” the probability of “\d+” (falls|rises|stays)/);
    const after = await bars();
    expect(after).not.toEqual(before);
    expect(after[0]).toMatch(/^[\d.]+\u00a0% → [\d.]+\u00a0%$/);
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes("changes=1.3:off"));
    await page.getByRole("button", { name: "Leave all heads as they are" }).click();
    await found(/^After “\d+” the model expects/);
    expect(await bars()).toEqual(before);
  });

  test("numbers of tokens are read; what the package refuses is said in its words", async () => {
    const numbers = page.getByLabel("Numbers of tokens (none: random ones that are repeated)");
    await numbers.fill("1 2 3 1 2");
    await page.locator(".token-strip button").nth(4).waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".token-strip button").length === 5);
    await numbers.fill("1 2 99");
    await page
      .getByText(/This did not work: model\.run: tokens\[2\] must be an integer from 0 to config\.vocabSize − 1/)
      .waitFor();
    await numbers.fill("1 2");
    await page.waitForFunction(() => document.querySelectorAll(".token-strip button").length === 2);
    expect(await page.getByText("This did not work").count()).toBe(0);
  });

  test("a configuration that is not supported is an error in the package's words, and the example can come back", async () => {
    await page.setInputFiles("#model-files", given({ ...gpt2(), "config.json": textFile({ model_type: "t5" }) }));
    await page.getByText(/This did not work: inspectModel: config\.json: model_type must be .*got "t5"/).waitFor();
    expect(await page.locator(".head-tile:visible").count()).toBe(0);
    await lab.compare(page);
    await page.getByText("This did not work: no model is shown whose weights could be compared.").waitFor();
    await page.setInputFiles("#model-files", given({ "model.safetensors": gpt2()["model.safetensors"]! }));
    await page.getByText(/This did not work: inspectModel: files must have config\.json/).waitFor();
    await page.getByRole("button", { name: "Show the example" }).click();
    await page.getByText("Until then, an example: two layers").waitFor();
  });

  test("is planned before a weight is read: sizes, precisions, and what nothing reads", async () => {
    await page.setInputFiles("#model-files", given({ ...gpt2(), "config.json": textFile({ ...CONFIGS.gpt2, use_cache: true }) })); // oxfmt-ignore
    await found(
      /^A model of the type GPT-2 with 2 layers of 4 heads, 16 wide: .* weights, .* in the files\. No weight has been read yet\.$/,
    );
    expect(await page.getByLabel(/^as stored: /).isChecked()).toBe(true);
    await page.getByText(/^These fields of config\.json change nothing: .*use_cache/).waitFor();
    expect(await page.locator(".head-tile:visible").count()).toBe(0);
    expect(await lab.axe(page)).toEqual([]);
    await page.getByLabel(/^int8: /).check();
    await page.getByRole("button", { name: "Load the model" }).click();
    await found(/^After “\d+” the model expects/);
    expect(await page.getByRole("button", { name: "Load the model" }).isVisible()).toBe(false);
  });

  test("that cannot be loaded says why, and the button does nothing", async () => {
    const { "config.json": config } = gpt2();
    await page.setInputFiles("#model-files", given({ "config.json": config! }));
    await found(/^This model cannot be loaded: model\.safetensors is missing\.$/);
    expect(await page.getByRole("button", { name: "Load the model" }).isDisabled()).toBe(true);
    await page.setInputFiles("#model-files", given({ ...gpt2(), "config.json": textFile({ ...CONFIGS.gpt2, attention_multiplier: 2 }) })); // oxfmt-ignore
    await found(/^This model is refused: it is not known what attention_multiplier of config\.json changes\.$/);
  });

  test("a folder that is chosen is read", async () => {
    await lab.enter("tensors", page);
    const folder = mkdtempSync(path.join(tmpdir(), "model-"));
    try {
      for (const [name, bytes] of Object.entries(filesOf(CONFIGS.bert, randomWeights(shapesOf("bert")))))
        writeFileSync(path.join(folder, name), bytes);
      await load("#model-folder", folder);
      await found(/^In the place of “\d+” the model expects/);
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(await page.getByRole("heading", { name: "What is hidden" }).count()).toBe(1);
  });

  test("files of tensors leave the model", async () => {
    const bytes = writeNpy([2, 3, 4], new Float32Array(24));
    await page.setInputFiles("#model-files", given(Object.fromEntries(["q.npy", "k.npy", "v.npy"].map((name) => [name, bytes])))); // oxfmt-ignore
    await page.getByText("Output [2, 3, 4]").waitFor();
  });
});

describe("The example", () => {
  test("a text without a token that it knows has no headline", async () => {
    await lab.enter("tensors", page);
    await page.getByLabel("Text", { exact: true }).fill("   ");
    await page.getByText("This did not work: there are no tokens").waitFor();
    expect(await finding()).toBe("");
    await page.getByLabel("Text", { exact: true }).fill("abcab");
    await found(/^After “b” the model expects/);
    await page.getByLabel("layer 1 head 3 is on").uncheck();
    await found(/^Layer 1 head 3 is off/);
    await page.getByRole("button", { name: "Leave all heads as they are" }).press("Enter");
    await found(/^After “b”/);
    expect(await page.evaluate(() => document.activeElement!.id)).toBe("main"); // the button is gone
  });

  test("shows heads with names, and opens one that is clicked", async () => {
    await lab.enter("tensors", page);
    expect(await finding()).toBe("After “s” the model expects “L”, with more than 99.9\u00a0%.");
    const badges = await page.locator(".head-tile .badge").allTextContents();
    expect(badges.slice(0, 4)).toContain("token before");
    expect(badges.slice(4)).toContain("induction");
    const [head] = await page.locator(".habit-list button", { hasText: /^layer 2 head \d: induction 0\.\d\d$/ }).allTextContents(); // oxfmt-ignore
    expect(head).toBeDefined();
    await page.locator('[data-head="1.4"]').click();
    await page.getByRole("heading", { name: "Layer 1 head 4" }).waitFor();
    const labels = await page
      .locator("attention-map:visible")
      .evaluate((map) => (map as unknown as { tokens: readonly string[] }).tokens);
    expect(labels.join("")).toBe("headwisLABheadwis");
  });

  test("says which letters it knows, and leaves out all others", async () => {
    await page.getByText("whatever else you type, spaces too, is left out").waitFor();
    const text = page.getByLabel("Text", { exact: true });
    const shown = await text.inputValue();
    await text.fill("aZ é👩‍🚀 09ÄÖ");
    await page.waitForFunction(() => document.querySelectorAll(".token-strip button").length === 6);
    expect(await page.locator(".token-strip button").allTextContents()).toEqual([..."aZ09ÄÖ"]);
    await text.fill(shown);
    await found(/^After “s”/);
  });

  test("without both heads that look at the token before, the letter that follows is not known, and the chain is said", async () => {
    await page.getByLabel("layer 1 head 4 is on").uncheck();
    await found(/^Layer 1 head 4 is off/);
    await page.getByLabel("layer 1 head 3 is on").uncheck();
    await found(/^Layer 1 head 3 is off and layer 1 head 4 is off: .* falls from more than 99.9\u00a0% to/);
    await page.getByText(/\(induction 0\.\d\d → 0\.\d\d\).* need what you changed\./).waitFor();
  });

  test("a head is averaged, and looks elsewhere, from its own card", async () => {
    await lab.enter("tensors?head=1.4", page);
    for (const [name, words] of [
      ["gives its mean everywhere", /^Layer 1 head 4 gives its mean everywhere: /],
      ["looks at the first token only", /^Layer 1 head 4 looks at the first token only: /],
      [
        "looks at the token before only",
        /^Layer 1 head 4 looks at the token before only: .* stays at more than 99.9\u00a0%/,
      ],
      ["is as it is", /^After “s”/],
    ] as const) {
      await page.getByText(name, { exact: true }).click();
      await found(words);
    }
  });

  test("another text, another place, and the same from the address", async () => {
    await page.getByLabel("Text", { exact: true }).fill("QWERTYuiopQWER");
    await found(/^After “R” the model expects “T”/);
    await page.locator(".token-strip button").nth(11).click();
    await found(/^After “W” the model expects “E”/);
    await page.waitForFunction(() => location.hash.includes("at=12"));
    const address = await page.evaluate(() => location.hash.slice(2));
    await lab.enter(address, page);
    expect(await finding()).toMatch(/^After “W” the model expects “E”/);
  });

  test("its weights are those of double precision, and nothing is wrong for screen readers", async () => {
    await lab.compare(page);
    await page.getByText(/^Against the definition in double precision, weights of layer \d head \d/).waitFor();
    expect(await lab.axe(page)).toEqual([]);
  });
});

test("a model that is trained with learned positions opens, and reads the letters of its maps", async () => {
  await lab.enter("train?position=learned&width=32&heads=2&control=false", page);
  await page.getByRole("button", { name: "Open this model in “Your model”" }).click();
  await page.getByRole("button", { name: "Load the model" }).click();
  await lab.ready("tensors", page);
  await page.getByText(/A model of the type GPT-2 with 2 layers of 2 heads, 32 wide, and 64 tokens/).waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".token-strip button").length === 48);
});

test("with rotary positions there is no such model, and the button says why", async () => {
  await lab.enter("train?width=32&heads=2&control=false", page);
  const button = page.getByRole("button", { name: "Open this model in “Your model”" });
  expect(await button.isDisabled()).toBe(true);
  expect(await button.getAttribute("title")).toMatch(/no rotary positions/);
});
