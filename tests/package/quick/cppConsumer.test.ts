// cmake --install, then find_package from a project elsewhere.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { firstRows } from "../expected.js";
import { run } from "../programs.js";

const consumer = path.resolve("tests/package/consumers/cpp");

test("a C++ project finds the installed library by CMake and computes with it", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-cpp-"));
  const [prefix, build] = [path.join(folder, "prefix"), path.join(folder, "build")];
  try {
    await run("cmake", ["--preset", "release"]);
    await run("cmake", ["--build", "build/release", "--target", "headwise"]);
    await run("cmake", ["--install", "build/release", "--prefix", prefix]);
    await run("cmake", ["-G", "Ninja", "-S", consumer, "-B", build, `-DCMAKE_PREFIX_PATH=${prefix}`]);
    await run("cmake", ["--build", build]);
    const printed = JSON.parse(await run(path.join(build, "consumer"), [])) as number[];
    expect(printed).toHaveLength(firstRows.length);
    printed.forEach((value, n) => expect(value).toBeCloseTo(firstRows[n]!, 5));
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 180_000);
