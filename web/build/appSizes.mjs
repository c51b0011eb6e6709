// What the smallest app loads of the JavaScript of headwise.

import path from "node:path";

import { buildSync } from "esbuild";

import { root } from "./paths.mjs";
import { gzipped } from "./sizes.mjs";

/** The smallest app that computes attention. */
const APP = `
  import { createAttention } from "headwise";
  const hw = await createAttention();
  globalThis.result = await hw.scaledDotProductAttention(globalThis.query, globalThis.key, globalThis.value);
`;

/** A part that comes only when another one is there. */
const COMES_AFTER = { placed: "layers" };

/**
 * The JavaScript of that app after a bundler has made it small, in KB after gzip: what it loads at once ("plain"), and what
 * each part adds when it comes.
 */
export function appSizes() {
  const { metafile, outputFiles } = buildSync({
    stdin: { contents: APP, resolveDir: root },
    absWorkingDir: root,
    outdir: "app",
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    write: false,
    format: "esm",
    target: "es2022",
    logLevel: "error",
  });
  const outputs = new Map(Object.entries(metafile.outputs));
  const sizes = new Map(outputFiles.map((file) => [path.relative(root, file.path), gzipped(file.contents)]));
  const sum = (names) => [...names].reduce((total, name) => total + sizes.get(name), 0);
  const plain = closureOf(outputs, "app/stdin.js");
  const parts = new Map(
    [...outputs]
      .filter(([, { entryPoint }]) => /\/part-(?!chunk)/.test(entryPoint))
      .map(([name, { entryPoint }]) => [/part-(\w+)-/.exec(entryPoint)[1], closureOf(outputs, name)]),
  );
  const added = [...parts].map(([name, files]) => {
    const known = new Set([...plain, ...(parts.get(COMES_AFTER[name]) ?? [])]);
    return [name, sum([...files].filter((file) => !known.has(file)))];
  });
  return { plain: sum(plain), ...Object.fromEntries(added) };
}

/** A file that a bundler made, and those that it imports at once. */
function closureOf(outputs, file) {
  const files = new Set([file]);
  for (const name of files)
    for (const { kind, path: other } of outputs.get(name).imports) if (kind === "import-statement") files.add(other);
  return files;
}
