import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import type { OnnxCase } from "../attention-conformance/reference/onnxTensors.js";

export { differences, inputsOf, type OnnxCase, type Result } from "../attention-conformance/reference/onnxTensors.js";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const folder = path.join(process.env["HEADWISE_CASES"] ?? path.join(repository, "..", "shared", "cases"), "onnx");

/** The published cases, or undefined, with a line on the console, where they are not on this machine. */
export function onnxCases(): readonly OnnxCase[] | undefined {
  if (!existsSync(folder)) {
    console.warn(`SKIPPED: no ONNX conformance cases at ${folder}; set HEADWISE_CASES to the folder that holds onnx/.`);
    return undefined;
  }
  const read = (file: string) => JSON.parse(readFileSync(path.join(folder, file), "utf8")) as unknown;
  return (read("_index.json") as { file: string }[]).map(({ file }) => read(file) as OnnxCase);
}
