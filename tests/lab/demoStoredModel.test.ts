import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { storageError } from "../../web/demo/ahead/storageError.js";
import { storedFiles, storeModel } from "../../web/demo/ahead/storedModel.js";
import { filesAt } from "../../web/demo/lab/engine/modelFiles.js";
import { storageNote } from "../../web/demo/lab/rooms/sentence/words.js";
import { Encoder } from "../../web/demo/model/encoder.js";
import { unzipped } from "../../web/demo/model/unzipped.js";
import { type GraphModel } from "../../web/demo/model/weights.js";
import { modelFiles } from "./demoModel.js";

const folder = mkdtempSync(path.join(tmpdir(), "headwise-model-"));
let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  await storeModel(folder);
});
afterAll(() => {
  hw.dispose();
  rmSync(folder, { recursive: true });
});

const graph = () => JSON.parse(readFileSync(path.join(folder, "model.json"), "utf8")) as GraphModel;

test("the stored model is less than half of the original, in files that can be tried again one by one", () => {
  const { paths, bytes } = graph().weightsManifest[0]!;
  expect(paths.length).toBeGreaterThan(2);
  expect(paths.map((file) => statSync(path.join(folder, file)).size)).toEqual(bytes);
  expect(bytes!.reduce((sum, size) => sum + size, 0)).toBeLessThan(27_903_656 / 2);
});

// float16 rounds each weight by up to 2^-11 ≈ 5e-4 of its size. Embeddings keep their direction to about (5e-4)²; a
// sharp softmax makes more of it: scores of 16 ± 5e-4·16 move a weight of a half by up to 0.25 · 0.016.
test("float16 moves embeddings and weights of attention only a little, and the room's note says how much", async () => {
  const [original, stored] = [await Encoder.load(hw, modelFiles), await Encoder.load(hw, storedFiles(folder))];
  const found = await storageError(original, stored);
  expect(found.cosine).toBeGreaterThan(1 - 1e-5);
  expect(found.cosine).toBeLessThan(1);
  expect(found.weight).toBeLessThan(0.02);
  expect(found.weight).toBeGreaterThan(0);
  const note = storageNote({ megabytes: 12.9, ...found });
  const [, sentences, points, cosine] = /Over (\d+) sentences.*more than ([\d.]+) percentage.*at least ([\d.]+) with/.exec(note)!; // oxfmt-ignore
  expect(Number(sentences)).toBe(found.sentences);
  expect(Number(points) / 100 - found.weight).toBeGreaterThanOrEqual(0);
  expect(Number(points) / 100 - found.weight).toBeLessThan(1e-3);
  expect(found.cosine - Number(cosine)).toBeGreaterThanOrEqual(0);
  expect(found.cosine - Number(cosine)).toBeLessThan(1e-6);
  original.dispose();
  stored.dispose();
});

test("progress counts what is loaded, and ends at the size of the files", async () => {
  const loaded: number[] = [];
  const sizes = graph().weightsManifest[0]!.bytes!.reduce((sum, size) => sum + size, 0);
  const encoder = await Encoder.load(hw, storedFiles(folder), (now, total) => {
    expect(total).toBe(sizes);
    loaded.push(now);
  });
  encoder.dispose();
  expect(loaded.at(-1)).toBe(sizes);
});

test("bytes that a server has unpacked already are read as they are", async () => {
  const { paths } = graph().weightsManifest[0]!;
  const file = new Uint8Array(readFileSync(path.join(folder, paths[0]!)));
  const bytes = await unzipped(file);
  expect(bytes.length).toBeGreaterThan(file.length);
  expect(await unzipped(bytes)).toBe(bytes);
});

test("over HTTP a failure names the file and the reason, and another try asks only for what is missing", async () => {
  const asked: string[] = [];
  let works = false;
  const server = createServer((request, response) => {
    const name = request.url!.slice(1);
    asked.push(name);
    if (!works && name === "b") return void response.writeHead(503).end("busy");
    if (!works && name === "c") return void response.destroy();
    response.end(readFileSync(path.join(folder, name)));
  });
  for (const name of ["a", "b", "c"]) writeFileSync(path.join(folder, name), name);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const files = filesAt(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
  const text = async (name: string) => new TextDecoder().decode(await files(name));
  try {
    expect(await text("a")).toBe("a");
    await expect(files("b")).rejects.toThrow("the model’s file b could not be loaded: the server answered 503");
    await expect(files("c")).rejects.toThrow(/the model’s file c could not be loaded: \S/);
    works = true;
    asked.length = 0;
    expect([await text("a"), await text("b"), await text("c")]).toEqual(["a", "b", "c"]);
    expect(asked).toEqual(["b", "c"]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
