import path from "node:path";

import { expect, test } from "@jest/globals";
import { build } from "esbuild";

/** Functions of headwise/inspect that do not need each other. Their names are in their messages. */
const APART = [
  "composition",
  "distanceSummary",
  "headImportance",
  "induction",
  "positional",
  "rollout",
  "attentionFlow",
];

/** A minified bundle of a program, with React outside of it. */
async function bundleOf(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: path.resolve(".") },
    bundle: true,
    minify: true,
    format: "esm",
    external: ["react"],
    write: false,
  });
  return outputFiles[0]!.text;
}

test.each(APART)(
  "a bundle that uses %s of headwise/inspect holds none of the functions that it does not need",
  async (name) => {
    const text = await bundleOf(`export { ${name} } from "headwise/inspect";`);
    expect(APART.filter((each) => text.includes(`"${each}"`))).toEqual([name]);
  },
);

test("a page that computes plain attention loads no code for formulas, layers or caches at once", async () => {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: `import { createAttention } from "headwise"; globalThis.made = createAttention();`,
      resolveDir: path.resolve("."),
    },
    bundle: true,
    splitting: true,
    format: "esm",
    outdir: "page",
    metafile: true,
    write: false,
  });
  const atOnce = new Set(["page/stdin.js"]);
  for (const name of atOnce)
    for (const { kind, path: other } of metafile.outputs[name]!.imports)
      if (kind === "import-statement") atOnce.add(other);
  const loading = [true, false].map((isAtOnce) =>
    outputFiles
      .filter((file) => atOnce.has(path.relative(path.resolve("."), file.path)) === isAtOnce)
      .map(({ text }) => text)
      .join("\n"),
  );
  const words = ["is not a formula of headwise/formula", "layer.forward", "cache.append"];
  expect(words.map((word) => loading.map((text) => text.includes(word)))).toEqual(words.map(() => [false, true]));
});

test("a bundle that uses useAttention of headwise/react holds none of the elements, and one that draws holds no engine", async () => {
  const [computing, drawing] = await Promise.all(
    ["useAttention", "AttentionMap"].map((name) => bundleOf(`export { ${name} } from "headwise/react";`)),
  );
  const [element, engine] = ["attention-map", "createAttention: the instance"];
  expect([computing!.includes(element), drawing!.includes(element)]).toEqual([false, true]);
  expect([computing!.includes(engine), drawing!.includes(engine)]).toEqual([true, false]);
});
