// The package in a bundle that is not an ES module. There is no import.meta.url, so the code does not know its own
// address. And the files that bundlers copy, which some of them read as scripts.

import { execFile } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { build, transform } from "esbuild";

/** Prints how the given createAttention ends. Its options come from the command line. */
const PROGRAM = `
  import { createAttention } from "ENTRY";
  const options = JSON.parse(process.argv[2]);
  const x = { data: new Float32Array(8).fill(1), shape: [2, 4] };
  createAttention(options)
    .then(async (hw) => {
      const { output } = await hw.scaledDotProductAttention(x, x, x);
      const { threads } = hw.report;
      hw.dispose();
      return { threads, value: output.data[0] };
    })
    .catch(({ name, code, message, hint }) => ({ name, code, message, hint }))
    .then((outcome) => console.log(JSON.stringify(outcome)));
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headwise-bundled-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A CommonJS bundle of a program that uses an entry, as servers and older tools make it. */
async function bundleOf(entry: string): Promise<string> {
  const outfile = path.join(folder, `${entry}.cjs`);
  const contents = PROGRAM.replace("ENTRY", `./dist/${entry}.js`);
  await build({
    stdin: { contents, resolveDir: path.resolve(".") },
    bundle: true,
    platform: "node",
    format: "cjs",
    outfile,
    logLevel: "silent",
  });
  return outfile;
}

async function outcomeOf(bundle: string, options: object): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(process.execPath, [bundle, JSON.stringify(options)], {
    timeout: 60_000,
  });
  return JSON.parse(stdout) as Record<string, unknown>;
}

test.each(["index", "index.node", "worker", "worker.node"])(
  "a CommonJS bundle of %s is imported without an error; createAttention says what it misses, and what to give",
  async (entry) => {
    const error = await outcomeOf(await bundleOf(entry), {});
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
    expect(error["message"]).toMatch(/^createAttention: .* cannot be found: this bundle has no file address/);
    expect(error["hint"]).toMatch(/`wasm: \{ baseUrl \}`.*`wasm: \{ url, lateUrl, glueUrl \}`.*headwise\/inline/);
  },
);

test.each(["index.node", "worker.node"])(
  "a CommonJS bundle of %s computes with the files of a folder",
  async (entry) => {
    const baseUrl = path.join(folder, `${entry}-files`);
    cpSync("dist/wasm", baseUrl, { recursive: true });
    copyFileSync("dist/worker-entry.node.js", path.join(baseUrl, "worker-entry.node.js"));
    expect(await outcomeOf(await bundleOf(entry), { threads: 2, wasm: { baseUrl } })).toEqual({ threads: 2, value: 1 });
  },
);

test("a CommonJS bundle of headwise needs no folder if both files are named", async () => {
  const bundle = await bundleOf("index.node");
  const [url, glueUrl] = ["wasm", "node.js"].map((ending) => path.resolve(`dist/wasm/headwise.simd.${ending}`));
  expect(await outcomeOf(bundle, { threads: 2, wasm: { url, glueUrl } })).toEqual({ threads: 2, value: 1 });
  const error = await outcomeOf(bundle, { wasm: { url } });
  expect(error["message"]).toMatch(/the loader of headwise\.simd\.wasm cannot be found/);
});

test("a CommonJS bundle of headwise/inline needs nothing", async () => {
  expect(await outcomeOf(await bundleOf("inline"), {})).toEqual({ threads: 1, value: 1 });
});

/** The scripts that the package names by their address. */
const COPIED = [
  ...["webgpu-engine.js", "auto-engine.js", "worker-entry.js", "worker-entry.node.js"],
  ...readdirSync("dist/wasm")
    .filter((name) => name.endsWith(".js"))
    .map((name) => `wasm/${name}`),
];

test.each(COPIED)(
  "%s has no await outside of functions: webpack's minifier reads a copied file as a script",
  async (name) => {
    await transform(readFileSync(`dist/${name}`, "utf8"), { format: "cjs", logLevel: "silent" });
  },
);
