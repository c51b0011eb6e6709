// The fields of the call structs, which JavaScript writes where C++ says that they lie.

import { beforeAll, describe, expect, test } from "@jest/globals";

import { SETTINGS, type PlainName } from "../../web/src/attention/attentionSettings.js";
import { fieldsAt } from "../../web/src/wasm/callFields.js";
import type { WasmCore } from "../../web/src/wasm/core.js";
import type { CallStructs } from "../../web/src/wasm/module.js";
import { openWasmCore } from "./sourceWasm.js";

const BASES: Partial<Record<keyof CallStructs, keyof CallStructs>> = {
  BackwardCall: "AttentionCall",
  LayerCall: "AttentionCall",
};
const KINDS: readonly (keyof CallStructs)[] = ["AttentionCall", "BackwardCall", "MergeCall", "RotaryCall", "CacheCall", "LayerCreation", "LayerCall", "LayerBackwardCall", "LayerUpdateCall", "LinearCall", "LinearBackwardCall"]; // oxfmt-ignore

/** A number that fits the type of this letter, and hardly any other field has. */
const NUMBERS: Readonly<Record<string, (n: number) => number>> = {
  b: (n) => n % 2,
  w: (n) => 2 ** 31 + n,
  l: (n) => 2 ** 40 + n,
  f: (n) => n + 0.5,
  d: (n) => n + 0.1,
};

const PLAIN_KINDS: readonly string[] = ["number", "flag", "integers", "floats"];

/** The settings that C++ has under the same name, and their defaults. */
const PLAIN = Object.entries(SETTINGS)
  .filter(([, { kind }]) => PLAIN_KINDS.includes(kind))
  .map(([name, { absent }]) => [name as PlainName, absent] as const);

describe("the fields of a call struct", () => {
  let core: WasmCore;
  beforeAll(async () => {
    core = await openWasmCore();
  });

  /** Names and letters of the fields, those of the base first. A field of the struct itself hides one of the base. */
  function fieldsOf(kind: keyof CallStructs): Map<string, string> {
    const base = BASES[kind];
    const own = [...fieldsAt(core.module[kind].fields(), core.heap)].map(({ name, letter }) => [name, letter] as const);
    return new Map([...(base ? fieldsOf(base) : []), ...own]);
  }

  test.each(KINDS)("%s: each has its own place, and reset gives all of them their defaults", (kind) => {
    const struct = core.struct(kind) as unknown as Record<string, number> & { reset(): void };
    const fields = [...fieldsOf(kind)];
    const all = () => Object.fromEntries(fields.map(([name]) => [name, struct[name]]));
    struct.reset();
    const defaults = all();
    const numbers = Object.fromEntries(fields.map(([name, letter], n) => [name, NUMBERS[letter]!(n)]));
    Object.assign(struct, numbers);
    expect(all()).toEqual(numbers);
    struct.reset();
    expect(all()).toEqual(defaults);
    expect(fields.length).toBeGreaterThan(8);
  });

  test.each(PLAIN)("of AttentionCall: %s, and its default is that of the setting", (name, absent) => {
    const struct = core.struct("AttentionCall");
    struct.reset();
    expect([...fieldsOf("AttentionCall").keys()]).toContain(name);
    expect(struct[name]).toBe(Number(absent ?? 0));
  });

  test("one that C++ does not have cannot be set", () => {
    const struct = core.struct("LinearCall") as unknown as Record<string, number>;
    expect(() => (struct["row"] = 1)).toThrow(TypeError);
  });
});
