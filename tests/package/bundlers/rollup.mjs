// node rollup.mjs FOLDER: Rollup with nothing but name resolution, with the page beside the bundle. Its chunks need a folder.

import path from "node:path";

import { nodeResolve } from "@rollup/plugin-node-resolve";
import { rollup } from "rollup";

import { copyPage } from "./page.mjs";

const [folder] = process.argv.slice(2);
const onwarn = ({ message }) => {
  throw new Error(message);
};
const bundle = await rollup({ input: path.join(folder, "main.js"), plugins: [nodeResolve({ browser: true })], onwarn });
await bundle.write({ dir: path.join(folder, "site"), format: "es" });
await copyPage(folder);
