// Runs the listing of web/docs/backends.md that computes on WebGPU, in its own Node process.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { listings } from "../package/listings.js";
import { run } from "../package/programs.js";
import { describeOnGpu } from "./gpu.js";

describeOnGpu("the listing on WebGPU in Node", () => {
  test("prints what it promises", async () => {
    const text = listings.get("webgpu.mjs")!;
    const folder = path.resolve("build/readme");
    mkdirSync(folder, { recursive: true });
    const file = path.join(folder, "webgpu.mjs");
    writeFileSync(file, text);
    const promised = [...text.matchAll(/\/\/ prints: (.*)$/gm)].map(([, line]) => line!);
    expect((await run(process.execPath, [file])).trim().split("\n")).toEqual(promised);
  });
});
