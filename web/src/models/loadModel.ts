import { throwIfAborted } from "../call/abort.js";
import { OptionError, UnsupportedError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import type { Attention } from "../instance/attention.js";
import { bert } from "./bert.js";
import { readFields, word, type Json } from "./configField.js";
import { checkInstance } from "../instance/givenInstance.js";
import { gpt2 } from "./gpt2.js";
import { readKnown } from "./knownNames.js";
import { llama } from "./llama.js";
import { Model } from "./model.js";
import { MODEL_TYPES } from "./modelConfig.js";
import { ModelFiles, type ModelFileList } from "./modelFiles.js";
import type { Network } from "./network.js";
import { Parts, type Precision } from "./parts.js";
import { TensorFiles, type LoadProgress } from "./tensorFiles.js";
import { openTokenizer, type LibraryTokenizer, type TokenizerClass } from "./tokenizer.js";

/** Options of `loadModel`. */
export interface LoadModelOptions {
  /**
   * How matrices are kept. `"as-stored"`, the default: F32 and F16 as they are in the files, BF16 as float32, which is
   * exact. `"float16"` rounds to float16: numbers of 65,520 or more become infinite, so it is not the default for BF16.
   * `"int8"` keeps integers with one scale for each output, as `quantizeWeight` makes them.
   * Vectors, such as biases and gains, are always float32.
   */
  readonly precision?: Precision | undefined;
  /** Called after each piece of the weights that was read. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Ends the loading; what was loaded is freed. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Makes `model.tokenizer`: the class of a library, for tokenizer.json and tokenizer_config.json among the files, or an
   * object with `encode` and `decode`.
   */
  readonly tokenizer?: TokenizerClass | LibraryTokenizer | undefined;
}

const OPERATION = "loadModel";
const NAMES = { precision: true, onProgress: true, signal: true, tokenizer: true } as const;
const PRECISIONS: readonly Precision[] = ["as-stored", "float32", "float16", "int8"];

/**
 * Reads a model from files that the user has chosen: config.json and weights in `.safetensors`. The models are BERT, GPT-2,
 * Llama, Mistral, Qwen 2 and Qwen 3, and others of their shapes. Weights are read piece by piece, straight to where they
 * are kept. Nothing is fetched.
 *
 * @param hw - The instance that computes. The weights lie in its memory, which `maximumMemory` limits.
 * @param files - What `<input type="file" webkitdirectory>` gives, an array of `File`s, or `Blob`s or `Uint8Array`s by
 *   name.
 * @throws UnsupportedError if a field of config.json has a value that is not supported; the message names both.
 * @throws OptionError if a file or a tensor is missing or damaged, ShapeError if a tensor has another shape than config.json
 *   says: before any weight is read.
 * @throws OutOfMemoryError if the engine's memory has no room. The reason of `signal` if it aborts.
 */
export async function loadModel(hw: Attention, files: ModelFileList, options: LoadModelOptions = {}): Promise<Model> {
  const { known, reader } = readKnown(OPERATION, options, NAMES);
  const { precision = "as-stored", tokenizer } = known;
  const signal = reader.signal();
  const onProgress = reader.callback("onProgress") as LoadModelOptions["onProgress"];
  if (!PRECISIONS.includes(precision))
    throw new OptionError(
      `${OPERATION}: precision must be ${PRECISIONS.map(describe).join(" or ")}, got ${describe(precision)}`,
    );
  checkInstance(OPERATION, "hw", hw, ["allocate", "linear", "multiHeadAttention"]);
  throwIfAborted(signal);
  const given = new ModelFiles(OPERATION, files);
  const json: Json = { at: `${OPERATION}: config.json: `, values: await given.json("config.json") };
  const { modelType } = readFields(json, { modelType: word("model_type", MODEL_TYPES) });
  const ready = tokenizer && (await openTokenizer(OPERATION, given, tokenizer));
  const tensors = await TensorFiles.open(OPERATION, given);
  const parts = new Parts(hw, tensors, precision);
  const network = networkOf(modelType, json, parts);
  tensors.assertNoHoles();
  try {
    await parts.load(onProgress, signal);
    throwIfAborted(signal);
  } catch (error) {
    parts.dispose();
    throw error;
  }
  return new Model(network, parts, ready);
}

function networkOf(modelType: (typeof MODEL_TYPES)[number], json: Json, parts: Parts): Network {
  const network =
    modelType === "bert" ? bert(json, parts) : modelType === "gpt2" ? gpt2(json, parts) : llama(modelType, json, parts);
  const { numHeads, numKvHeads, headDim } = network.config;
  if (!Number.isInteger(headDim) || !Number.isInteger(numHeads / numKvHeads))
    throw new UnsupportedError(
      `${OPERATION}: config.json: the heads must divide the width, and the key heads the query heads, got ` +
        `${numHeads} heads, ${numKvHeads} key heads and a width of ${headDim} per head`,
    );
  return network;
}
