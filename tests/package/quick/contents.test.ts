// What npm would publish, file by file.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { decode } from "@jridgewell/sourcemap-codec";

import { ERROR_CODES, HeadwiseError } from "../../../web/src/base/errors.js";
import { pack } from "../consumer.js";
import { run } from "../programs.js";

const EXPECTED = [
  /^(package\.json|README\.md|LICENSE|THIRD-PARTY-NOTICES\.md|CHANGELOG\.md)$/,
  /^dist\/sbom\.cdx\.json$/,
  /^dist\/(index(\.node)?|worker(-entry)?(\.node)?|(webgpu|auto)-engine|webgpu|inline|formula|onnx|train|models|inspect|viz|react)\.js$/,
  /^dist\/(inline|formula|onnx|train|models|inspect|viz|react)\.cjs$/,
  /^dist\/part-[\w-]+\.js$/,
  /^dist\/(worker-entry|(webgpu|auto)-engine)\.js\.map$/,
  /^dist\/wasm\/headwise\.((simd|relaxed)\.((late\.)?wasm|js|node\.js)|inline\.wasm)$/,
  /^web\/demo\/firstScreen\.png$/, // the picture of the README
  /^web\/docs\/[a-z-]+\.md$/, // what the README and the hints of errors link to
  /^dist\/types\/(index|worker|webgpu|inline|formula|onnx|train|models|inspect|viz|react)\.d\.ts$/,
  /^dist\/types\/(inline|formula|onnx|train|models|inspect|viz|vizReact|react)\.d\.cts$/,
  /^dist\/types\/shared\/[\w-]+\.d\.cts$/,
];

/** A file, or the files by condition. */
type Target = string | { readonly [condition: string]: Target };
interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, Target>>;
  readonly scripts: Record<string, string>;
  readonly [field: string]: unknown;
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly (string | null)[];
  readonly mappings: string;
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

test("holds what the links in its pages, and the hints of its errors, lead to", () => {
  const names = [...files.keys()];
  const links = names.filter((name) => name.endsWith(".md")).flatMap((name) => linksOf(name, String(files.get(name))));
  expect(links.length).toBeGreaterThan(100);
  const isThere = (to: string) => files.has(to) || names.some((name) => name.startsWith(`${to.replace(/\/$/, "")}/`));
  expect(links.filter(({ to }) => !isThere(to)).map(({ from, to }) => `${from} leads to ${to}`)).toEqual([]);
  const hints = ERROR_CODES.map((code) => new HeadwiseError("", { code }).hint);
  expect(hints.filter((hint) => !leadsToSection(hint))).toEqual([]);
});

/** The relative links of a page, without those in code. */
function linksOf(from: string, text: string): { readonly from: string; readonly to: string }[] {
  const prose = text.replace(/```[^]*?```/g, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^([a-z]+:|#)/.test(target))
    .map((target) => ({ from, to: path.normalize(path.join(path.dirname(from), target.split("#")[0]!)) }));
}

function leadsToSection(hint: string): boolean {
  const [, page = "", section = ""] = /^See node_modules\/headwise\/(.+)#(.+)\.$/.exec(hint) ?? [];
  return new RegExp(`^## ${section.toUpperCase()}$`, "m").test(String(files.get(page)));
}

test("holds every file that its exports name", () => {
  const filesOf = (target: Target): string[] =>
    typeof target === "string" ? [target] : Object.values(target).flatMap(filesOf);
  const targets = Object.values(manifest.exports)
    .flatMap(filesOf)
    .filter((target) => !target.includes("*"))
    .map((target) => path.normalize(target));
  expect(targets.length).toBeGreaterThan(6);
  expect(targets.filter((target) => !files.has(target))).toEqual([]);
});

test("leads TypeScript's older resolution to the declarations of its exports", () => {
  const { "*": older } = manifest.typesVersions as { readonly "*": Readonly<Record<string, readonly string[]>> };
  const declared = Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === "object" && name !== "." ? [[name.replace("./", ""), [target.types]] as const] : [],
  );
  expect(declared.length).toBeGreaterThan(8);
  expect(older).toEqual(Object.fromEntries(declared));
});

test("types import nothing that is left out", () => {
  const imported = [...files]
    .filter(([name]) => name.startsWith("dist/types/"))
    .flatMap(([name, text]) => importsOf(name, text));
  expect(imported.length).toBeGreaterThan(50);
  expect(imported.filter((name) => !files.has(name))).toEqual([]);
});

/** The files that the relative imports of a declaration file lead to. */
function importsOf(name: string, text: Buffer): string[] {
  const specifiers = [...String(text).matchAll(/(?:from|import\() ?["'](\.[^"']+)\.(c?)js["']/g)];
  return specifiers.map(([, specifier, c]) => path.join(path.dirname(name), `${specifier}.d.${c}ts`));
}

test("types name nothing that is internal", () => {
  const types = [...files].filter(([name]) => name.startsWith("dist/types/"));
  expect(types.filter(([, text]) => /@internal|usualCode/.test(String(text))).map(([name]) => name)).toEqual([]);
});

test("source maps hold their sources", () => {
  const maps = [...files].filter(([name]) => name.endsWith(".map"));
  for (const [, text] of maps) {
    const { sources, sourcesContent } = JSON.parse(String(text)) as SourceMap;
    expect(sources.length).toBeGreaterThan(0);
    expect(sourcesContent.map((content) => typeof content)).toEqual(sources.map(() => "string"));
  }
});

test.each(["worker-entry.js", "webgpu-engine.js", "auto-engine.js"])(
  "the source map of the small %s leads each text to its line",
  (name) => {
    const code = String(files.get(`dist/${name}`));
    const { sourcesContent, mappings } = JSON.parse(String(files.get(`dist/${name}.map`))) as SourceMap;
    const lines = decode(mappings);
    const found = code.split("\n").flatMap((text, line) =>
      [...text.matchAll(/"([A-Za-z ,']{24,80})"/g)].map(({ 1: words, index }) => {
        const [, source, row] = lines[line]!.findLast(([column]) => column <= index)! as [
          number,
          number,
          number,
          number,
        ];
        const rows = sourcesContent[source]!.split("\n");
        return {
          words,
          isThere: rows
            .slice(row, row + 2)
            .join("\n")
            .includes(words!),
        };
      }),
    );
    expect(found.length).toBeGreaterThan(10);
    expect(found.filter(({ isThere }) => !isThere)).toEqual([]);
  },
);

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

test("needs no other package but React, for headwise/react alone, and runs nothing on installation", () => {
  for (const field of ["dependencies", "optionalDependencies", "bundledDependencies"])
    expect(manifest).not.toHaveProperty(field);
  expect(manifest).toMatchObject({
    peerDependencies: { react: ">=18" },
    peerDependenciesMeta: { react: { optional: true } },
  });
  const scripts = [...files].filter(([name]) => /^dist\/[^/]+\.c?js$/.test(name));
  const importing = scripts.filter(([, code]) => /(from ?|require\()"react"/.test(String(code)));
  expect(importing.map(([name]) => name).sort()).toEqual(["dist/react.cjs", "dist/react.js"]);
  const atInstallation = ["preinstall", "install", "postinstall", "prepare", "prepublish"];
  expect(Object.keys(manifest.scripts).filter((name) => atInstallation.includes(name))).toEqual([]);
});

test("names no folder of the machine that built it", () => {
  const places = [path.resolve("."), process.env["HOME"]!].filter((place) => place.length > 1);
  const naming = [...files].filter(([, content]) => places.some((place) => content.includes(`${place}/`)));
  expect(naming.map(([name]) => name)).toEqual([]);
});
