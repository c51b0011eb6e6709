// node rollup.mjs FOLDER: Rollup with nothing but name resolution, with the page beside the bundle.

import path from "node:path";

import { nodeResolve } from "@rollup/plugin-node-resolve";
import { rollup } from "rollup";

import { copyPage } from "./page.mjs";

const [folder] = process.argv.slice(2);
const onwarn = ({ message }) => {
  throw new Error(message);
};
const bundle = await rollup({ input: path.join(folder, "main.js"), plugins: [nodeResolve({ browser: true })], onwarn });
await bundle.write({ file: path.join(folder, "site/main.js"), format: "es" });
await copyPage(folder);
