import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { expect, test } from "@jest/globals";
import { build } from "esbuild";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

test("a call that gets something large in place of something small is refused before that costs much", async () => {
  const program = path.join(root, "build/test-programs/costlyCalls.mjs");
  await build({
    entryPoints: [path.join(root, "tests/web/costlyCalls.ts")],
    outfile: program,
    ...{ bundle: true, platform: "node", format: "esm", packages: "external", logLevel: "silent" },
  });
  const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: WAIT_MILLISECONDS });
  expect(JSON.parse(stdout)).toEqual({});
});
