import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createAttention, type Attention, type KvCacheOptions } from "headwise";

import { readCache, writeCache } from "../../web/src/webgpu/cache/cacheFile.js";
import { crc32 } from "../../web/src/webgpu/cache/crc32.js";
import { runsOf } from "./depth.js";
import { randomTensor } from "./randomTensor.js";

const RUNS = runsOf(60) * 20;

const FORM: KvCacheOptions = { batchSize: 2, numKvHeads: 3, headDim: 6, valueDim: 4 };
const scaled = (scaling: NonNullable<KvCacheOptions["rotary"]>["scaling"]): KvCacheOptions => ({
  ...FORM,
  rotary: { rotaryDim: 4, base: 500, ...(scaling && { scaling }) },
});

/** The kinds of caches. Each is saved empty and with tokens. */
const KINDS: readonly [string, KvCacheOptions][] = [
  ["float32", FORM],
  ["float16 with a capacity", { ...FORM, dtype: "float16", capacity: 9 }],
  ["an int8 ring", { ...FORM, dtype: "int8", ring: { keepFirst: 1, window: 4 } }],
  ["a ring with positions of its own", { ...scaled(undefined), ring: { keepFirst: 1, window: 4, positions: "cache" } }],
  ["no batch", { ...FORM, batchSize: 0 }],
  ["rotary", scaled(undefined)],
  ["linear angles", scaled({ kind: "linear", factor: 4 })],
  ["ntk angles", scaled({ kind: "ntk", factor: 4 })],
  ["dynamic-ntk angles", scaled({ kind: "dynamic-ntk", factor: 4, originalLength: 64, sequenceLength: 100 })],
  ["yarn angles", scaled({ kind: "yarn", factor: 4, originalLength: 64, mscale: 0.7, mscaleAllDim: 0.7 })],
  ["llama3 angles", scaled({ kind: "llama3", factor: 4, originalLength: 64 })],
];

const NUMBER = 8;
const FIRST = 8;
const MOST = 2n ** 31n - 1n;
const INTEGERS = [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, -1n, MOST, MOST + 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 40n].concat([
  2n ** 52n,
  2n ** 52n + 1n,
  2n ** 53n + 1n,
  2n ** 62n,
  2n ** 63n - 1n,
  -(2n ** 31n),
  -(2n ** 63n),
]);
const DOUBLES = [0, -0, 1, -1, 0.5, 0.999, 1.001, 4, 31.5, 33, 64, 1e308, 5e-324, NaN, Infinity, -Infinity];

/** The eight bytes of each value. */
const PATTERNS: readonly Uint8Array[] = [
  ...INTEGERS.map((value) => new Uint8Array(BigInt64Array.of(value).buffer)),
  ...DOUBLES.map((value) => new Uint8Array(Float64Array.of(value).buffer)),
];

/** The bytes with some of them changed, and with a correct checksum. */
function forged(bytes: Uint8Array, changes: readonly (readonly [at: number, pattern: Uint8Array])[]): Uint8Array {
  const copy = bytes.slice();
  for (const [at, pattern] of changes) copy.set(pattern, at);
  return signed(copy);
}

function signed(bytes: Uint8Array): Uint8Array {
  new DataView(bytes.buffer).setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)), true);
  return bytes;
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const codeOf = (error: unknown) => (error as { readonly code?: string }).code;

/** Reads a file with the WebGPU engine's reader and writes it again; or the code of the error. */
function readByTypeScript(bytes: Uint8Array): string | undefined {
  try {
    return text(writeCache(readCache("loadCache", bytes)));
  } catch (error) {
    return codeOf(error);
  }
}

describe("saved caches with forged headers and right checksums", () => {
  let hw: Attention;
  const files = new Map<string, Uint8Array>();
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", threads: 1 });
    for (const [name, options] of KINDS) {
      using cache = await hw.kvCache(options);
      files.set(`${name}, empty`, await cache.save());
      const rows = (width: number) => randomTensor(width, [options.batchSize!, 3, 3, width]);
      await cache.append(rows(6), rows(4), { lengths: [3, 2].slice(0, options.batchSize) });
      files.set(name, await cache.save());
    }
  });
  afterAll(() => hw.dispose());

  async function readByCpp(bytes: Uint8Array): Promise<string | undefined> {
    try {
      using cache = await hw.kvCache({ from: bytes });
      return text(await cache.save());
    } catch (error) {
      return codeOf(error);
    }
  }

  /** int8 of version 1 is saved as version 2. Without rows the version is the only difference. */
  const renewed = (bytes: Uint8Array) => (bytes[16] === 2 ? forged(bytes, [[8, new Uint8Array([2])]]) : bytes);

  /** Both readers must refuse a file as corrupt, or both must read it and write the same bytes. */
  async function expectAgreement(bytes: Uint8Array, what: string): Promise<boolean> {
    const [cpp, typeScript] = [await readByCpp(bytes), readByTypeScript(bytes)];
    const same = [text(bytes), text(renewed(bytes))];
    const outcome = (result: string | undefined) => (same.includes(result!) ? "the same file" : result);
    const [found, must] = [outcome(typeScript), outcome(cpp)];
    // ten thousand times: to expect costs more than to read
    if (found !== must || !["the same file", "CORRUPT_DATA"].includes(must!))
      expect([what, "TypeScript:", found]).toEqual([what, "C++:", must]);
    return cpp === text(bytes);
  }

  test.each(KINDS.flatMap(([name]) => [name, `${name}, empty`]))(
    "are refused or read by both engines alike: %s",
    async (name) => {
      const bytes = files.get(name)!;
      expect(await expectAgreement(bytes, "as it is")).toBe(true);
      const end = Math.min(bytes.length - 4 - NUMBER, FIRST + 30 * NUMBER);
      let read = 0;
      for (let at = FIRST; at <= end; at += NUMBER)
        for (const pattern of PATTERNS)
          read += Number(await expectAgreement(forged(bytes, [[at, pattern]]), `${text(pattern)} at ${at}`));
      expect(read).toBeGreaterThan(0);
      for (const length of [12, 92, 96, 100, bytes.length - 8, bytes.length - 1, bytes.length + 1, bytes.length + 8]) {
        const resized = new Uint8Array(length);
        resized.set(bytes.subarray(0, length));
        await expectAgreement(signed(resized), `${length} of ${bytes.length} bytes`);
      }
    },
  );

  test("are refused or read by both engines alike: several numbers at once", async () => {
    const changes = fc.array(fc.tuple(fc.nat(27), fc.constantFrom(...PATTERNS)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.nat(2 * KINDS.length - 1), changes, async (n, list) => {
        const [name, bytes] = [...files][n]!;
        const fitting = list
          .map(([field, pattern]) => [FIRST + field * NUMBER, pattern] as const)
          .filter(([at]) => at + NUMBER + 4 <= bytes.length);
        await expectAgreement(forged(bytes, fitting), name);
      }),
      { numRuns: RUNS },
    );
  });
});
