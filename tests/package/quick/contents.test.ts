// What npm would publish, file by file.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

import { pack } from "../consumer.js";
import { run } from "../programs.js";

const KB = 1000;

const EXPECTED = [
  /^(package\.json|README\.md|LICENSE|THIRD-PARTY-NOTICES\.md|CHANGELOG\.md)$/,
  /^dist\/sbom\.cdx\.json$/,
  /^dist\/(index(\.node)?|worker(-entry)?(\.node)?|webgpu(-engine)?|inline|onnx|viz)\.js$/,
  /^dist\/wasm\/headwise\.((simd|relaxed)\.(wasm|js|node\.js)|inline\.wasm)$/,
  /^web\/docs\/[a-z-]+\.md$/, // what the README and the hints of errors link to
  /^dist\/types\/([a-zA-Z]+\/)?[a-zA-Z0-9.]+\.d\.ts$/,
];

type Exports = Record<string, string | Record<string, string>>;
interface Manifest {
  readonly version: string;
  readonly exports: Exports;
  readonly scripts: Record<string, string>;
  readonly [field: string]: unknown;
}

interface Bill {
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

let folder: string;
let files: Map<string, Buffer>;
let manifest: Manifest;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "headwise-contents-"));
  const tarball = await pack(folder);
  await run("tar", ["-xzf", tarball, "-C", folder]);
  const names = (await run("tar", ["-tzf", tarball])).trim().split("\n");
  const read = async (name: string) => [name.replace("package/", ""), await readFile(path.join(folder, name))] as const;
  files = new Map(await Promise.all(names.map(read)));
  manifest = JSON.parse(String(files.get("package.json"))) as Manifest;
});
afterAll(() => rm(folder, { recursive: true }));

test("holds nothing but what is expected, and of that something of every kind", () => {
  const names = [...files.keys()];
  expect(names.filter((name) => !EXPECTED.some((pattern) => pattern.test(name)))).toEqual([]);
  expect(EXPECTED.filter((pattern) => !names.some((name) => pattern.test(name)))).toEqual([]);
});

test("says what is new in its version", () => {
  expect(String(files.get("CHANGELOG.md"))).toMatch(new RegExp(`^## ${manifest.version.replaceAll(".", "\\.")}$`, "m"));
});

test("holds the pages that its README and the hints of its errors lead to", () => {
  const links = [...String(files.get("README.md")).matchAll(/\]\((web\/docs\/[^)#]+)/g)].map((match) => match[1]!);
  expect(links.length).toBeGreaterThan(2);
  expect([...links, "web/docs/troubleshooting.md"].filter((name) => !files.has(name))).toEqual([]);
});

test("holds every file that its exports name", () => {
  const targets = Object.values(manifest.exports)
    .flatMap((target) => (typeof target === "string" ? target : Object.values(target)))
    .filter((target) => !target.includes("*"))
    .map((target) => path.normalize(target));
  expect(targets.length).toBeGreaterThan(6);
  expect(targets.filter((target) => !files.has(target))).toEqual([]);
});

test("types import nothing that is left out", () => {
  const imported = [...files]
    .filter(([name]) => name.endsWith(".d.ts"))
    .flatMap(([name, text]) => importsOf(name, text));
  expect(imported.length).toBeGreaterThan(50);
  expect(imported.filter((name) => !files.has(name))).toEqual([]);
});

/** The files that the relative imports of a declaration file lead to. */
function importsOf(name: string, text: Buffer): string[] {
  const specifiers = [...String(text).matchAll(/(?:from|import\() ?["'](\.[^"']+)\.js["']/g)].map((match) => match[1]!);
  return specifiers.map((specifier) => path.join(path.dirname(name), `${specifier}.d.ts`));
}

test("asks bundlers to leave alone what it imports at run time", () => {
  const scripts = [...files].filter(([name]) => /^dist\/[^/]+\.js$/.test(name));
  const imports = scripts.flatMap(([, code]) => [...String(code).matchAll(/\bimport\(([^()]*?)\w+\s*\)/g)]);
  expect(imports.length).toBeGreaterThan(2);
  for (const [text] of imports) expect(text).toMatch(/webpackIgnore: true[^]*turbopackIgnore: true[^]*@vite-ignore/);
});

test("gives notice of everything of others that is inside", () => {
  const { components } = JSON.parse(String(files.get("dist/sbom.cdx.json"))) as Bill;
  const named = (name: string) => components.find((component) => component.name === name)?.version;
  for (const name of ["Eigen", "xsimd", "Emscripten runtime"]) expect(named(name)).toMatch(/^\d+\.\d+\.\d+$/);
  const notices = String(files.get("THIRD-PARTY-NOTICES.md"));
  expect(components.filter(({ name }) => !notices.includes(name.replace(" runtime", "")))).toEqual([]);
});

test("needs no other package and runs nothing on installation", () => {
  for (const field of ["dependencies", "peerDependencies", "optionalDependencies", "bundledDependencies"])
    expect(manifest).not.toHaveProperty(field);
  const atInstallation = ["preinstall", "install", "postinstall", "prepare", "prepublish"];
  expect(Object.keys(manifest.scripts).filter((name) => atInstallation.includes(name))).toEqual([]);
});

test("names no folder of the machine that built it", () => {
  const places = [path.resolve("."), process.env["HOME"]!].filter((place) => place.length > 1);
  const naming = [...files].filter(([, content]) => places.some((place) => content.includes(`${place}/`)));
  expect(naming.map(([name]) => name)).toEqual([]);
});

describe("sizes", () => {
  test.each([
    ["dist/wasm/headwise.simd.wasm", 150 * KB],
    ["dist/wasm/headwise.relaxed.wasm", 150 * KB],
    ["dist/wasm/headwise.inline.wasm", 150 * KB],
    ["dist/wasm/headwise.simd.js", 12 * KB],
    ["dist/wasm/headwise.relaxed.js", 12 * KB],
    ["dist/index.js", 48 * KB],
    ["dist/index.node.js", 48 * KB],
    ["dist/worker.js", 48 * KB],
    ["dist/worker-entry.js", 24 * KB],
    ["dist/webgpu-engine.js", 56 * KB],
    ["dist/inline.js", 160 * KB],
  ])("%s is at most %d bytes by gzip", (name, budget) => {
    expect(gzipSync(files.get(name)!).length).toBeLessThanOrEqual(budget);
  });

  test("all together are at most 4 MB", () => {
    const total = [...files.values()].reduce((sum, { length }) => sum + length, 0);
    expect(total).toBeLessThanOrEqual(4000 * KB);
  });
});
