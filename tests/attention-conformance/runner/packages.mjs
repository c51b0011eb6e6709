// Where the packages of adapters are: in a node_modules of this folder or of a folder around it. A package may also be
// the one that the suite lies in, as headwise is in its repository.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const suiteFolder = fileURLToPath(new URL("..", import.meta.url));

const manifest = (folder) => JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));

/** The folder of a package. */
export function folderOf(name) {
  for (let folder = suiteFolder; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const installed = path.join(folder, "node_modules", name);
    if (existsSync(installed)) return installed;
    if (existsSync(path.join(folder, "package.json")) && manifest(folder).name === name) return folder;
  }
  throw new Error(`the package ${name} is not installed`);
}

export const versionOf = (name) => manifest(folderOf(name)).version;

/** The file of an entry of headwise. A page loads it as it lies, because its modules find each other and their wasm. */
export function headwiseFile(entry, platform) {
  const folder = folderOf("headwise");
  const conditions = manifest(folder).exports[entry.replace(/^headwise/, ".")];
  return path.join(folder, conditions[platform] ?? conditions.default);
}

const adapters = path.join(suiteFolder, "adapters");

const HELPERS = ["headwise.mjs", "onnxOperator.mjs", "onnxModel.mjs"];

/** The names of the suite's own adapters. */
export const adapterNames = () =>
  readdirSync(adapters)
    .filter((file) => !HELPERS.includes(file))
    .map((file) => path.basename(file, ".mjs"))
    .sort();

/** @param adapter - a name of adapters/, or the path of a file */
export function adapterFile(adapter) {
  const file = adapter?.endsWith(".mjs") ? path.resolve(adapter) : path.join(adapters, `${adapter}.mjs`);
  if (existsSync(file)) return file;
  const all = adapterNames().join(", ");
  throw new Error(`name an adapter: a path that ends in .mjs, or one of ${all}; got ${JSON.stringify(adapter)}`);
}

/** What `open` of an adapter gets in Node. */
export function nodeTools(features) {
  const load = async (name) => {
    const module = await import(name.startsWith("headwise") ? pathToFileURL(headwiseFile(name, "node")).href : name);
    return module.default && Object.keys(module).length < 4 ? { ...module.default } : module; // CommonJS
  };
  return { isNode: true, features, versionOf, load: (...names) => Promise.all(names.map(load)) };
}
