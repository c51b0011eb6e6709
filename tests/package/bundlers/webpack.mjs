// node webpack.mjs FOLDER [BASE]: webpack without configuration, or with the address of its output, for a page with a
// plain script.

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import webpack from "webpack";

const [folder, publicPath = "auto"] = process.argv.slice(2);
const output = path.join(folder, "site");
const compiler = webpack({
  ...{ context: folder, mode: "production", entry: "./main.js" },
  output: { path: output, filename: "main.js", publicPath },
});
const stats = await promisify(compiler.run.bind(compiler))();
// webpack recommends files below 244 KiB. Each variant of the engine is a file of 293 KiB, of which a page loads one.
const RECOMMENDATIONS = ["AssetsOverSizeLimitWarning", "NoAsyncChunksWarning"];
const warnings = stats.compilation.warnings.filter(({ name }) => !RECOMMENDATIONS.includes(name));
if (stats.hasErrors() || warnings.length > 0) throw new Error(stats.toString("errors-warnings"));
const page = await readFile(path.join(folder, "index.html"), "utf8");
await writeFile(path.join(output, "index.html"), page.replace('type="module"', "defer"));
