// What the runners of the suite say to a wrong name of an adapter.

import { expect, test } from "@jest/globals";

import { adapterFile } from "../attention-conformance/runner/packages.mjs";

test("an adapter is a name of the folder adapters, or the path of a file", () => {
  expect(adapterFile("headwise-wasm")).toMatch(/adapters.headwise-wasm\.mjs$/);
  expect(adapterFile("tests/web/usage.test.mjs")).toMatch(/usage\.test\.mjs$/);
});

test.each([undefined, "nonsense", "./nonsense.mjs"])("%s is refused with what there is", (adapter) => {
  expect(() => adapterFile(adapter)).toThrow(
    `name an adapter: a path that ends in .mjs, or one of headwise-wasm, headwise-webgpu, jax-js-wasm, onnxruntime-wasm, onnxruntime-webgpu, tfjs-wasm; got ${JSON.stringify(adapter)}`,
  );
});
