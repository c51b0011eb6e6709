// Runs the listings of web/docs/backends.md that compute on WebGPU, each in its own Node process.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { listings } from "../package/listings.js";
import { run } from "../package/programs.js";
import { describeOnGpu } from "./gpu.js";

describeOnGpu("a listing on WebGPU in Node", () => {
  test.each(["webgpu.mjs", "weight.mjs", "recorded.mjs"])("%s prints what it promises", async (name) => {
    const text = listings.get(name)!;
    const folder = path.resolve("build/readme");
    mkdirSync(folder, { recursive: true });
    const file = path.join(folder, name);
    writeFileSync(file, text);
    const promised = [...text.matchAll(/\/\/ prints: (.*)$/gm)].map(([, line]) => line!);
    expect((await run(process.execPath, [file])).trim().split("\n")).toEqual(promised);
  });
});
