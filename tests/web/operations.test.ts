// The operations that `headwise` loads from a file of their own. Jest gives every test file its own modules, so that here
// the first call of one of them is the one that loads.

import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  AssetError,
  createAttention,
  DisposedError,
  OptionError,
  ShapeError,
  type Attention,
  type CreateOptions,
  type HeadwiseError,
} from "headwise";

import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";

const wasmFolder = fileURLToPath(new URL("../../dist/wasm/", import.meta.url));

const create = (options: CreateOptions = {}) =>
  createAttention({ backend: "wasm", variant: "simd", threads: 1, ...options });

const rejection = (call: Promise<unknown>): Promise<HeadwiseError> =>
  call.then(
    () => {
      throw new Error("it ended well");
    },
    (error: HeadwiseError) => error,
  );

const x = randomTensor(1, [1, 2, 6, 8]);

describe("the first call of an operation in a file of its own", () => {
  test("keeps its place before calls that need no file", async () => {
    const hw = await create();
    const turnedHere = { data: x.data.slice(), shape: x.shape };
    const [turned, output] = await Promise.all([
      hw.rotaryEmbedding(x, { into: turnedHere }),
      hw.scaledDotProductAttention(turnedHere, x, x),
    ]);
    expect(turned.data).not.toEqual(x.data);
    expect(bits(output)).toEqual(bits(await hw.scaledDotProductAttention(turned, x, x)));
    hw.dispose();
  });

  test("ends with its instance", async () => {
    const hw = await create({ wasm: { glueUrl: await glueIn(folder, ["headwise.operations.js"]) } });
    const call = rejection(hw.kvCache({ numKvHeads: 1, headDim: 2 }));
    hw.dispose();
    expect(await call).toBeInstanceOf(DisposedError);
  });
});

test("errors and caches are of the same classes in all instances", async () => {
  const [hw, other] = await Promise.all([create(), create()]);
  expect(await rejection(hw.kvCache({ numKvHeads: 1, headDim: 0 }))).toBeInstanceOf(OptionError);
  const cache = await other.kvCache({ numKvHeads: 1, headDim: 2 });
  expect(await rejection(cache.append(x, x))).toBeInstanceOf(ShapeError);
  const square = { data: new Float32Array(4), shape: [2, 2] };
  const layer = await hw.multiHeadAttention({
    inputDim: 2,
    numHeads: 1,
    weights: { Wq: square, Wk: square, Wv: square, Wo: square },
  });
  const error = await rejection(layer.forward({ data: new Float32Array(2), shape: [1, 1, 2] }, { cache }));
  expect(error.message).toMatch(/must be a cache of this instance, got one of another/);
  hw.dispose();
  other.dispose();
});

test("a file that is not beside the loader is named, and the other calls go on", async () => {
  const empty = await mkdtemp(path.join(tmpdir(), "headwise-operations-"));
  const hw: Attention = await create({ wasm: { glueUrl: await glueIn(empty, []) } });
  const error = await rejection(hw.kvCache({ numKvHeads: 1, headDim: 2 }));
  expect(error).toBeInstanceOf(AssetError);
  expect(error.message).toMatch(/^kvCache: file:.*headwise\.operations\.js could not be loaded/);
  expect(error.hint).toContain("headwise/wasm/");
  expect((await hw.scaledDotProductAttention(x, x, x)).output.shape).toEqual(x.shape);
  hw.dispose();
  await rm(empty, { recursive: true });
});

test("a loader that a bundler renamed leaves the package its own file", async () => {
  const renamed = path.join(folder, "headwise.simd-3f9a.js");
  await copyFile(path.join(wasmFolder, "headwise.simd.node.js"), renamed);
  const url = pathToFileURL(path.join(wasmFolder, "headwise.simd.wasm")).href;
  const hw = await create({ wasm: { url, glueUrl: pathToFileURL(renamed).href } });
  expect((await hw.kvCache({ numKvHeads: 1, headDim: 2 })).length).toBe(0);
  hw.dispose();
});

test.each(["cuSeqLensQuery", "cuSeqLensKey"])("a ragged batch's %s of null is refused, not ignored", async (name) => {
  const hw = await create();
  const error = await rejection(hw.scaledDotProductAttention(x, x, x, { layout: "BSHD", [name]: null } as object));
  expect(error).toBeInstanceOf(OptionError);
  expect(error.message).toContain(`${name} must be a list of numbers, got null`);
  hw.dispose();
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "headwise-operations-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** The loader, copied with some of its neighbours. */
async function glueIn(place: string, neighbours: readonly string[]): Promise<string> {
  const glue = "headwise.simd.node.js";
  for (const name of [glue, ...neighbours]) await copyFile(path.join(wasmFolder, name), path.join(place, name));
  return pathToFileURL(path.join(place, glue)).href;
}
