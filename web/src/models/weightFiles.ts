import { isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import type { ModelFiles } from "./modelFiles.js";

const ENDING = ".safetensors";
export const INDEX = "model.safetensors.index.json";
export const WHOLE = "model.safetensors";

/** The files that hold the tensors of a model. */
export interface WeightFiles {
  readonly names: readonly string[];
  /** Those of them that are not among the files. */
  readonly missing: readonly string[];
  /** The names of tensors that an index says to be in missing files. */
  readonly missingTensors: readonly string[];
}

/**
 * The names of the files with tensors: `model.safetensors`, the shards that `model.safetensors.index.json` names, or the only
 * file with this ending.
 *
 * @throws OptionError with code `"CORRUPT_DATA"` if the index is damaged; if several files could be meant.
 */
export async function weightFiles(operation: string, files: ModelFiles): Promise<WeightFiles> {
  if (files.has(WHOLE)) return { names: [WHOLE], missing: [], missingTensors: [] };
  if (files.has(INDEX)) {
    const index = await files.json(INDEX);
    const names = shardsOf(operation, index);
    const tensors = Object.entries(index["weight_map"] as Readonly<Record<string, string>>);
    return {
      names,
      missing: names.filter((name) => !files.has(name)),
      missingTensors: tensors.filter(([, file]) => !files.has(file)).map(([name]) => name),
    };
  }
  const found = files.names.filter((name) => name.endsWith(ENDING) && !name.includes("/"));
  if (found.length === 1) return { names: found, missing: [], missingTensors: [] };
  if (found.length > 1) throw noWeights(operation, files);
  return { names: [WHOLE], missing: [WHOLE], missingTensors: [] };
}

/**
 * The files that an index names, each once.
 *
 * @throws OptionError with code `"CORRUPT_DATA"` if it is damaged.
 */
export function shardsOf(operation: string, index: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const shards = index?.["weight_map"];
  const names = [...new Set(isObject(shards) ? (Object.values(shards) as unknown[]) : [])];
  if (names.length > 0 && names.every((name): name is string => typeof name === "string")) return names;
  throw new OptionError(`${operation}: ${INDEX} must have a weight_map from tensors to files`, {
    code: "CORRUPT_DATA",
  });
}

/** Weights of other formats. */
const OTHERS: readonly (readonly [names: RegExp, what: string, hint: string])[] = [
  [
    /^adapter_(config|model)\./,
    "an adapter (LoRA), which changes the weights of another model",
    "Join both in Python: `model.merge_and_unload().save_pretrained(folder)`.",
  ],
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

/** The error for files without weights. */
export function noWeights(operation: string, files: ModelFiles): OptionError {
  return missing(operation, files, `${WHOLE}, ${INDEX}, or one file that ends in ${ENDING}`);
}

/** The error for files without `what`. It says what weights of another format are. */
export function missing(operation: string, files: ModelFiles, what: string): OptionError {
  const [file, [, holds, hint] = []] = files.names
    .map((name) => [name, OTHERS.find(([names]) => names.test(name))] as const)
    .find(([, other]) => other) ?? [undefined];
  const note = file ? `: ${file} holds ${holds}` : "";
  return new OptionError(`${operation}: files must have ${what}, got ${files.listed}${note}`, { hint });
}
