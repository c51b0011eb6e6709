import { expect } from "@jest/globals";
import type { GpuResult } from "headwise";

import { bits } from "../web/close.js";
import { disposeAll } from "./gpu.js";

/** The bits of results by name, as `bits` gives them. */
type Bits = ReturnType<typeof bits>;

/** Reads results on the GPU back, expects these bits, and frees them. */
export async function expectBits(result: object, wanted: Bits): Promise<void> {
  const there = result as Record<string, GpuResult<"float32">>;
  const read = await Promise.all(
    Object.keys(wanted).map(async (name) => {
      const { shape, dtype } = there[name]!;
      return [name, { data: await there[name]!.data(), shape, dtype }];
    }),
  );
  expect(bits(Object.fromEntries(read) as object)).toEqual(wanted);
  disposeAll(result);
}
