import { OptionError } from "../errors/errors.js";
import { isObject } from "../foreign/describe.js";
import type { ModelFiles } from "./modelFiles.js";

const ENDING = ".safetensors";
const INDEX = "model.safetensors.index.json";
const WHOLE = "model.safetensors";

/** The files that hold the tensors of a model. */
export interface WeightFiles {
  readonly names: readonly string[];
  /** Those of them that are not among the files. */
  readonly missing: readonly string[];
  /** The names of all tensors, if an index lists them. */
  readonly tensors: readonly string[];
}

/**
 * The names of the files with tensors: `model.safetensors`, the shards that `model.safetensors.index.json` names, or the only
 * file with this ending.
 *
 * @throws OptionError with code `"CORRUPT_DATA"` if the index is damaged; if several files could be meant.
 */
export async function weightFiles(operation: string, files: ModelFiles): Promise<WeightFiles> {
  if (files.has(WHOLE)) return { names: [WHOLE], missing: [], tensors: [] };
  if (files.has(INDEX)) {
    const { weight_map: shards } = await files.json(INDEX);
    const entries = isObject(shards) ? Object.entries(shards) : [];
    const names = [...new Set(entries.map(([, shard]) => shard as unknown))];
    if (names.length === 0 || !names.every((name): name is string => typeof name === "string"))
      throw new OptionError(`${operation}: ${INDEX} must have a weight_map from tensors to files`, {
        code: "CORRUPT_DATA",
      });
    return { names, missing: names.filter((name) => !files.has(name)), tensors: entries.map(([tensor]) => tensor) };
  }
  const found = files.names.filter((name) => name.endsWith(ENDING) && !name.includes("/"));
  if (found.length === 1) return { names: found, missing: [], tensors: [] };
  if (found.length > 1) throw noWeights(operation, files);
  return { names: [WHOLE], missing: [WHOLE], tensors: [] };
}

/** Weights of other formats. */
const OTHERS: readonly (readonly [ending: RegExp, what: string, hint: string])[] = [
  [
    /\.gguf$/,
    "weights of llama.cpp, most of them quantised",
    "Download the model that it was made from: a folder with config.json and .safetensors files.",
  ],
  [
    /\.(bin|pth?|ckpt)$/,
    "weights of PyTorch, a program that is not run here",
    "Convert it in Python: `AutoModel….from_pretrained(folder).save_pretrained(folder, safe_serialization=True)`.",
  ],
  [/\.(h5|msgpack|onnx|npz)$/, "weights of another format", "Download the .safetensors files of the model."],
];

/** The error for files without weights. It says what weights of another format are. */
export function noWeights(operation: string, files: ModelFiles): OptionError {
  const [file, [, what, hint] = []] = files.names
    .map((name) => [name, OTHERS.find(([ending]) => ending.test(name))] as const)
    .find(([, other]) => other) ?? [undefined];
  return new OptionError(
    `${operation}: files must have ${WHOLE}, ${INDEX}, or one file that ends in ${ENDING}, ` +
      `got ${files.listed}${file ? `: ${file} holds ${what}` : ""}`,
    { hint },
  );
}
