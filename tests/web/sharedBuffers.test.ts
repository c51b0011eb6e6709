import { runInNewContext } from "node:vm";

import { expect, test } from "@jest/globals";

import { isSharedBuffer } from "../../web/src/base/typedArray.js";

const elsewhere = (code: string) => runInNewContext(code) as object;

test.each<[string, object, boolean]>([
  ["an ArrayBuffer", new ArrayBuffer(8), false],
  ["an empty ArrayBuffer", new ArrayBuffer(0), false],
  ["a SharedArrayBuffer", new SharedArrayBuffer(8), true],
  ["an empty SharedArrayBuffer", new SharedArrayBuffer(0), true],
  ["an ArrayBuffer of another realm", elsewhere("new ArrayBuffer(8)"), false],
  ["a SharedArrayBuffer of another realm", elsewhere("new SharedArrayBuffer(8)"), true],
  ["an ArrayBuffer that looks shared", Object.setPrototypeOf(new ArrayBuffer(8), SharedArrayBuffer.prototype) as object, false],
  ["a SharedArrayBuffer that looks plain", Object.setPrototypeOf(new SharedArrayBuffer(8), ArrayBuffer.prototype) as object, true],
])("%s: whether it is shared does not depend on its realm or prototype", (_, buffer, isShared) => {
  expect(isSharedBuffer(buffer)).toBe(isShared);
}); // oxfmt-ignore
