// node webpackNode.mjs FOLDER: webpack for a server, otherwise without configuration: the program server.js of FOLDER, with
// all that it needs beside it in FOLDER/site.

import path from "node:path";
import { promisify } from "node:util";

import webpack from "webpack";

const [folder] = process.argv.slice(2);
const compiler = webpack({
  ...{ context: folder, mode: "production", target: "node20", entry: "./server.js" },
  output: { path: path.join(folder, "site"), filename: "server.cjs" },
});
const stats = await promisify(compiler.run.bind(compiler))();
if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString("errors-warnings"));
