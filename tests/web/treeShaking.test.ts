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

test.each(APART)(
  "a bundle that uses %s of headwise/inspect holds none of the functions that it does not need",
  async (name) => {
    const { outputFiles } = await build({
      stdin: { contents: `export { ${name} } from "headwise/inspect";`, resolveDir: path.resolve(".") },
      bundle: true,
      minify: true,
      format: "esm",
      write: false,
    });
    const { text } = outputFiles[0]!;
    expect(APART.filter((each) => text.includes(`"${each}"`))).toEqual([name]);
  },
);
