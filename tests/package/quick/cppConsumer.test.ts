// The guide's commands: build, cmake --install, then find_package from a project elsewhere.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { firstRows } from "../expected.js";
import { run } from "../programs.js";

const consumer = path.resolve("tests/package/consumers/cpp");
const [, commands] = /^```sh\n(cmake .*?)\n```/ms.exec(readFileSync("web/docs/guide.md", "utf8"))!;

test("a C++ project finds the installed library by CMake and computes with it", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-cpp-"));
  const place = (name: string) => path.join(folder, name);
  const env = { CMAKE_GENERATOR: "Ninja" };
  try {
    const elsewhere = commands!.replace(/(-B|--build|--install) build/g, `$1 ${place("build")}`);
    await run("sh", ["-ec", elsewhere.replace("~/headwise", place("prefix"))], { env });
    await run("cmake", ["-S", consumer, "-B", place("theirs"), `-DCMAKE_PREFIX_PATH=${place("prefix")}`], { env });
    await run("cmake", ["--build", place("theirs")]);
    const printed = JSON.parse(await run(place("theirs/consumer"), [])) as number[];
    expect(printed).toHaveLength(firstRows.length);
    printed.forEach((value, n) => expect(value).toBeCloseTo(firstRows[n]!, 5));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
