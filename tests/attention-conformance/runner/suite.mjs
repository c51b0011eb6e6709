// The cases of the suite, as the measure reads them.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const here = (file) => fileURLToPath(new URL(file, import.meta.url));

/** Files of rows. */
export const CASE_FILES = ["attention", "features", "isolation", "formulas"].map((name) =>
  here(`../cases/${name}.json`),
);

const onnxFolder = path.join(process.env.HEADWISE_CASES ?? here("../../../../shared/cases"), "onnx");

/** The rows of all files. */
export const readRows = () => CASE_FILES.flatMap((file) => read(file).cases);

/** @param {RegExp} [filter] - of names */
export function readSuite(filter = /./) {
  return {
    rows: readRows().filter(({ name }) => filter.test(name)),
    onnx: onnxCases().filter(({ name }) => filter.test(name)),
  };
}

/** The published cases lie beside the repository, and are never part of it. */
function onnxCases() {
  if (!existsSync(onnxFolder)) {
    console.warn(`SKIPPED: no ONNX cases at ${onnxFolder}; set HEADWISE_CASES to the folder that holds onnx/.`);
    return [];
  }
  return read(path.join(onnxFolder, "_index.json")).map(({ file }) => read(path.join(onnxFolder, file)));
}
