import { describe, expect, test } from "@jest/globals";

import { replace } from "./faultyGpu.js";

describe("a replaced method", () => {
  const around = (mark: string) => (original: () => unknown) =>
    function (this: unknown) {
      return mark + String(original.call(this));
    };

  test.each([
    [
      [0, 1, 2],
      ["abx", "ax", "x"],
    ],
    [
      [2, 1, 0],
      ["bcx", "cx", "x"],
    ],
    [
      [1, 0, 1, 2],
      ["acx", "ax", "ax", "x"],
    ],
  ] as const)("is the first one again, also if restored in the order %j", (order, seen) => {
    const object = { name: () => "x" };
    const restore = ["c", "b", "a"].map((mark) => replace(object, "name", around(mark)));
    expect(object.name()).toBe("abcx");
    const results = order.map((place) => {
      restore[place]!();
      return object.name();
    });
    expect(results).toEqual(seen);
  });
});
