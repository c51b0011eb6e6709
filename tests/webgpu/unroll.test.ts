import { expect, test } from "@jest/globals";

import { unrolled } from "../../web/src/webgpu/kernels/unroll.js";

const lines = (text: string) => text.split("\n").map((line) => line.trim());

test("a loop becomes one block for each number", () => {
  expect(lines(unrolled("unroll (r < 2) { a[r] = r; }", {}))).toEqual(["{ a[0u] = 0u; }", "{ a[1u] = 1u; }"]);
});

test("a bound may be a product of numbers and constants", () => {
  expect(lines(unrolled("unroll (n < 2 * R) { x(n); }", { R: 2 }))).toHaveLength(4);
});

test("loops inside loops are written out too", () => {
  const text = unrolled("unroll (r < R) { unroll (c < C) { s[r * C + c] = 0; } }", { R: 2, C: 2 });
  expect(text.match(/s\[\du \* C \+ \du\]/g)).toEqual([
    "s[0u * C + 0u]",
    "s[0u * C + 1u]",
    "s[1u * C + 0u]",
    "s[1u * C + 1u]",
  ]);
});

test("a name that only contains the variable, and a component of a vector, stay as they are", () => {
  expect(unrolled("unroll (w < 1) { out.w = row[w] + weight; }", {})).toBe("{ out.w = row[0u] + weight; }");
});

test("a loop of no turns leaves nothing", () => {
  expect(unrolled("a; unroll (r < R) { b; } c;", { R: 0 })).toBe("a;  c;");
});

test("a bound without a number and a block without an end are refused", () => {
  expect(() => unrolled("unroll (r < S) { }", { R: 2 })).toThrow("the bound S is not a number");
  expect(() => unrolled("unroll (r < 2) { {", {})).toThrow("a block of a kernel is not closed");
});
