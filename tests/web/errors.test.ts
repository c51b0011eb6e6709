import { readFileSync } from "node:fs";
import vm from "node:vm";

import { describe, expect, test } from "@jest/globals";

import {
  AssetError,
  DeviceLostError,
  DisposedError,
  EmptyRowError,
  ERROR_CODES,
  HeadwiseError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  UnsupportedError,
} from "../../web/src/base/errors.js";

const classes = {
  ShapeError: [ShapeError, "INVALID_SHAPE"],
  OptionError: [OptionError, "INVALID_OPTION"],
  UnsupportedError: [UnsupportedError, "UNSUPPORTED"],
  OutOfMemoryError: [OutOfMemoryError, "OUT_OF_MEMORY"],
  DeviceLostError: [DeviceLostError, "DEVICE_LOST"],
  DisposedError: [DisposedError, "DISPOSED"],
  AssetError: [AssetError, "ASSET_NOT_FOUND"],
} as const;

describe.each(Object.entries(classes))("%s", (name, [Type, code]) => {
  test("has its name, its code, and the message, hint and cause that it was given", () => {
    const cause = new Error("why");
    const error = new Type("op: rule", { hint: "do this", cause });
    const hint = `do this See node_modules/headwise/web/docs/troubleshooting.md#${code.toLowerCase()}.`;
    expect(error).toMatchObject({ name, code, message: "op: rule", hint, cause });
    expect(String(error)).toBe(`${name}: op: rule`);
  });

  test("knows its own kind and that of its base, and no other", () => {
    const error = new Type("x");
    expect(HeadwiseError.is(error)).toBe(true);
    const known = Object.entries(classes).filter(([, [Other]]) => Other.is(error));
    expect(known.map(([other]) => other)).toEqual([name]);
  });
});

test("the base class does not take a derived one's place", () => {
  expect(ShapeError.is(new HeadwiseError("x"))).toBe(false);
});

test("an error without details has no cause, so that none is printed", () => {
  expect(new ShapeError("x")).not.toHaveProperty("cause");
});

test("the page that hints link to has a section for every code, with cause and cure, and for nothing else", () => {
  const page = readFileSync(new URL("../../web/docs/troubleshooting.md", import.meta.url), "utf8");
  const sections = page.split(/^## /m).slice(1);
  expect(sections.map((section) => section.split("\n", 1)[0])).toEqual([...ERROR_CODES]);
  for (const section of sections) expect(section).toMatch(/\*\*Cause\.\*\* .*\*\*Cure\.\*\* /s);
});

test("an EmptyRowError tells the rows", () => {
  const rows = [{ batch: 0, head: 1, query: 2 }];
  expect(new EmptyRowError("x", rows)).toMatchObject({ name: "EmptyRowError", code: "EMPTY_ROW", rows });
});

test("errors of another copy of the package in another realm are recognised", () => {
  const foreign: unknown = vm.runInNewContext(`
    const error = new Error("x");
    error[Symbol.for("headwise.error")] = ["ShapeError", "HeadwiseError"];
    error`);
  expect(foreign instanceof Error).toBe(false);
  expect(HeadwiseError.is(foreign)).toBe(true);
  expect(ShapeError.is(foreign)).toBe(true);
  expect(OptionError.is(foreign)).toBe(false);
});

test.each([undefined, null, 1, "ShapeError", new Error("x"), { name: "ShapeError" }])(
  "%p is no headwise error",
  (value) => {
    expect(HeadwiseError.is(value)).toBe(false);
  },
);
