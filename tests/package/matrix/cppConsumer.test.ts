// The commands of web/docs/cpp.md: build, cmake --install, then find_package from a project elsewhere.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { firstRows } from "../expected.js";
import { run } from "../programs.js";

const [, commands] = /^```sh\n(cmake .*?)\n```/ms.exec(readFileSync("web/docs/cpp.md", "utf8"))!;
const env = { CMAKE_GENERATOR: "Ninja" };

let folder: string;
const place = (name: string) => path.join(folder, name);

/**
 * Builds a project of tests/package/consumers with the installed library, and takes warnings for errors. Returns the folder
 * of what it makes.
 */
async function built(consumer: string, prefix = "prefix"): Promise<string> {
  const source = path.resolve("tests/package/consumers", consumer);
  const folder = place(`${consumer}-with-${prefix}`);
  const given = [`-DCMAKE_PREFIX_PATH=${place(prefix)}`, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"];
  await run("cmake", ["-S", source, "-B", folder, ...given], { env });
  await run("cmake", ["--build", folder]);
  return folder;
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "headwise-cpp-"));
  const elsewhere = commands!.replace(/(-B|--build|--install) build/g, `$1 ${place("build")}`);
  await run("sh", ["-ec", elsewhere.replace("~/headwise", place("prefix"))], { env });
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a C++ project finds the installed library by CMake and computes with it", async () => {
  const printed = JSON.parse(await run(path.join(await built("cpp"), "consumer"), [])) as number[];
  expect(printed).toHaveLength(firstRows.length);
  printed.forEach((value, n) => expect(value).toBeCloseTo(firstRows[n]!, 5));
});

test("a shared library may carry the installed one inside: its code is position-independent", async () => {
  await built("cppPlugin");
});

test("the headers are found where CMAKE_INSTALL_INCLUDEDIR puts them", async () => {
  await run("cmake", ["-B", place("build"), "-DCMAKE_INSTALL_INCLUDEDIR=headers"], { env });
  await run("cmake", ["--install", place("build"), "--prefix", place("elsewhere")]);
  await built("cpp", "elsewhere");
});

test("the licences are installed", () => {
  for (const name of ["LICENSE", "THIRD-PARTY-NOTICES.md"])
    expect(readFileSync(place(`prefix/share/licenses/headwise/${name}`))).toEqual(readFileSync(name));
});
