// The engine has exponentials and the like of its own, without tables (cpp/src/base/real_functions.h). They take the place
// of C's when the modules are linked.

import { readdirSync, readFileSync } from "node:fs";

import { expect, test } from "@jest/globals";

const FOLDER = new URL("../../dist/wasm/", import.meta.url);
const modules = readdirSync(FOLDER).filter((name) => name.endsWith(".wasm"));

/** 2^(1/128) as musl's table of exp has it: the bits of the double, less 1 · 2^45 (exp_data.c, the second pair). */
const OF_MUSL = Buffer.from(BigUint64Array.of(0x3fef_f63d_a9fb_3335n).buffer);

test.each(modules)("%s has no table of C's exp", (name) => {
  expect(readFileSync(new URL(name, FOLDER)).includes(OF_MUSL)).toBe(false);
});

test("there are such modules", () => {
  expect(modules.length).toBeGreaterThanOrEqual(5);
});
