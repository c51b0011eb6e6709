import { readFileSync } from "node:fs";

import { expect, test } from "@jest/globals";

import { readNpy, writeNpy } from "../../../web/demo/lab/rooms/tensors/files/npy.js";
import { randomNormal } from "../../../web/demo/lab/shell/random.js";
import { expectClose, LabPage } from "./labPage.js";

const lab = new LabPage();

test("tensors that are dropped, and the output that is saved", async () => {
  const tensor = (seed: number) => ({ data: randomNormal(seed, 3 * 8 * 4), shape: [3, 8, 4] });
  const [query, key, value] = [tensor(1), tensor(2), tensor(3)];
  const { output, probs } = await lab.hw.scaledDotProductAttention(query, key, value, {
    causal: true,
    returns: { probs: true },
  });
  await lab.enter("tensors?mode=attention&causal=true");
  const files = Object.entries({ q: query, k: key, v: value });
  await lab.page.setInputFiles(
    "#files",
    files.map(([name, { shape, data }]) => ({
      name: `${name}.npy`,
      mimeType: "",
      buffer: Buffer.from(writeNpy(shape, data)),
    })),
  );
  await lab.page.getByText("Output [3, 8, 4]").waitFor();
  expectClose(await lab.mapNumbers(), probs.data);
  const [download] = await Promise.all([
    lab.page.waitForEvent("download"),
    lab.page.getByText("Save output.npy").click(),
  ]);
  const saved = readNpy(readFileSync(await download.path()), "output");
  expect(saved.shape).toEqual([3, 8, 4]);
  expectClose([...saved.data], output.data);
});

const file = (name: string, buffer: Uint8Array) => ({ name, mimeType: "", buffer: Buffer.from(buffer) });
const small = (name: string, ...shape: number[]) =>
  file(name, writeNpy(shape, randomNormal(7, shape.reduce((n, extent) => n * extent, 1)))); // oxfmt-ignore
const broken = file("broken.npy", Buffer.from("no"));
const results = async () => [
  await lab.page.locator("attention-map:visible").count(),
  await lab.page.getByRole("button", { name: /^Save .*npy$/ }).count(),
];

test("after a file that failed nothing of the example is shown, and the example can come back", async () => {
  await lab.enter("tensors?mode=attention");
  expect(await results()).toEqual([1, 2]);
  await lab.page.setInputFiles("#files", broken);
  await lab.page.getByText("broken.npy is no .npy file: it does not begin").waitFor();
  expect(await results()).toEqual([0, 0]);
  await lab.page.getByText("Nothing is shown: no file could be read.").waitFor();
  await lab.page.getByRole("button", { name: "Show the example" }).click();
  await lab.page.getByText("An example of random numbers: 4 heads, 20 queries and 20 keys.").waitFor();
  expect(await results()).toEqual([1, 2]);
});

test("a file that fails does not lose the files beside it, nor a call that fails the tensors", async () => {
  await lab.enter("tensors?mode=attention");
  await lab.page.setInputFiles("#files", [small("q.npy", 3, 8, 4), broken, small("k.npy", 3, 8, 4), small("v.npy", 3, 8, 4)]); // oxfmt-ignore
  await lab.page
    .getByText("Your tensors: 3 heads, 8 queries and 8 keys; Query is q, Key is k and Value is v.")
    .waitFor();
  await lab.page.getByText("broken.npy is no .npy file").waitFor();
  await lab.page.setInputFiles("#files", small("k.npy", 3, 8, 5));
  await lab.page.getByText("This did not work").waitFor();
  expect(await results()).toEqual([0, 0]);
  await lab.page.setInputFiles("#files", small("k.npy", 3, 9, 4));
  await lab.page.setInputFiles("#files", small("v.npy", 3, 9, 4));
  await lab.page.getByText("Your tensors: 3 heads, 8 queries and 9 keys").waitFor();
  expect(await results()).toEqual([1, 2]);
});

test("a file that fails keeps the tensors that the visitor has chosen", async () => {
  await lab.enter("tensors?mode=attention");
  await lab.page.setInputFiles("#files", ["q.npy", "k.npy", "v.npy"].map((name) => small(name, 3, 8, 4))); // oxfmt-ignore
  await lab.page.getByLabel("Query", { exact: true }).selectOption("k");
  await lab.page.getByText("Query is k, Key is k and Value is v.").waitFor();
  await lab.page.setInputFiles("#files", broken);
  await lab.page.getByText("broken.npy is no .npy file").waitFor();
  await lab.ready("tensors");
  await lab.page.getByText("Query is k, Key is k and Value is v.").waitFor();
  expect(await lab.page.getByLabel("Query", { exact: true }).inputValue()).toBe("k");
});

test("the random tokens of a layer are called random", async () => {
  await lab.enter("tensors?mode=layer");
  await lab.page.getByLabel("Tokens X").selectOption({ label: "24 random tokens" });
  const map = () => lab.mapNumbers().then((numbers) => numbers.length);
  await lab.page.waitForFunction(() => document.querySelector("attention-map")!.probs!.shape.at(-1) === 24);
  expect(await map()).toBe(4 * 24 * 24);
  await lab.page.getByText("random numbers: 4 heads, 24 queries and 24 keys").waitFor();
});

test("files that are dropped anywhere in the page are taken", async () => {
  await lab.enter("tensors");
  const files = ["q", "k", "v"].map((name) => ({ name: `${name}.npy`, bytes: [...small(name, 2, 5, 4).buffer] }));
  await lab.page.locator("h1").evaluate((title, given) => {
    const dataTransfer = new DataTransfer();
    for (const { name, bytes } of given) dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
    title.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  }, files);
  await lab.page.getByText("Output [2, 5, 4]").waitFor();
});

test("files that are dropped before the room has its code are taken when it opens", async () => {
  const page = await lab.open();
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/assets/*.js", async (route) => {
    if (route.request().url().includes("/room-")) await held;
    await route.continue();
  });
  await page.goto(`${lab.url}#/tensors`);
  await page.locator("h1", { hasText: "Your model" }).waitFor();
  await page.locator("h1").evaluate((title) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["no numbers"], "q.npy"));
    title.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  });
  release();
  await page.getByText("q.npy is no .npy file").waitFor();
  expect(await page.locator(".room > .notice").textContent()).toBe("");
  await page.close();
});

test.each([
  ["bench", 1],
  ["tensors", 2],
  ["tensors?mode=attention", 1],
])("files are chosen with the lab's own words, and the keyboard reaches them: %s", async (place, count) => {
  const page = await lab.open();
  await page.goto(`${lab.url}?lang=de#/${place}`);
  await lab.ready(place.split("?")[0]!, page);
  const fields = page.locator(".drop:visible input[type=file]");
  expect(await fields.count()).toBe(count);
  for (const field of await fields.all()) {
    expect(await field.evaluate((node) => getComputedStyle(node).opacity)).toBe("0"); // the browser's words are not seen
    expect(await field.locator("xpath=..").innerText()).toMatch(/^(Ordner|Dateien) wählen$/);
    await field.focus(); // the field itself, which the browser opens by Enter
    expect(await field.evaluate((node) => node === document.activeElement)).toBe(true);
    expect(await field.evaluate((node) => getComputedStyle(node.parentElement!).outlineStyle)).toBe("solid");
  }
  await page.close();
});
