// `npm pack` builds what it packs. Only the compiled C++ is taken from here, with the stamps that say of which sources it is.
// (twice/reproducible.test.ts compiles it anew.)

import { existsSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { TEST_MILLISECONDS, WAIT_MILLISECONDS } from "../../hangLimits.mjs";
import { freshClone } from "../freshClone.js";
import { run } from "../programs.js";

let clone: string;
beforeAll(async () => {
  clone = await freshClone();
  const stamps = ["simd", "relaxed", "inline"].map((name) => `build/stamps/wasm-${name}`);
  for (const compiled of ["dist/wasm", "build/inline-module", ...stamps]) {
    if (existsSync(compiled)) await cp(compiled, path.join(clone, compiled), { recursive: true });
  }
});
afterAll(() => rm(clone, { recursive: true }));

/** The names of the files that npm would publish. The answer of npm is all that stands on stdout. */
async function packed(folder: string, ...flags: string[]): Promise<string[]> {
  const printed = await run("npm", ["pack", "--dry-run", "--json", ...flags], {
    cwd: folder,
    timeout: 3 * WAIT_MILLISECONDS,
  });
  const [{ files }] = JSON.parse(printed) as [{ files: readonly { readonly path: string }[] }];
  return files.map((file) => file.path).sort();
}

test(
  "npm pack in a fresh clone packs what npm pack packs here, where all is built",
  async () => expect(await packed(clone)).toEqual(await packed(path.resolve("."), "--ignore-scripts")),
  4 * TEST_MILLISECONDS,
);
