import { expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packagesOf = (folder) =>
  Object.keys(JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8")).devDependencies);

/** Vite's plugins read what is not code. */
const codeOnly = {
  name: "code-only",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^virtual:|\.(css|wgsl|svg|tex|woff2|safetensors|json)\b|\?/ }, () => ({ external: true })),
};

/** What a program imports that is not in this repository, also what it imports late. */
async function importsOf(entryPoints) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    bundle: true,
    write: false,
    metafile: true,
    outdir: "none",
    format: "esm",
    platform: "node",
    packages: "external",
    external: ["./types.mjs"], // only `npm run build` comes to them
    plugins: [codeOnly],
    logLevel: "silent",
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  return imports.filter(({ external }) => external).map((found) => found.path);
}

test("npm start needs no package of tests/tools", async () => {
  const names = await importsOf([
    "web/build/start.mjs",
    "web/demo/build.mjs",
    "web/demo/command.mjs",
    "web/demo/cli/main.ts",
    "web/demo/lab/main.ts",
  ]);
  expect(names).toEqual(expect.arrayContaining(["esbuild", "vite", "@swc/core"]));
  const isOf = (name) => names.some((found) => found === name || found.startsWith(`${name}/`));
  expect(packagesOf(".").filter(isOf).length).toBeGreaterThan(10);
  expect(packagesOf("tests/tools").filter(isOf)).toEqual([]);
});
