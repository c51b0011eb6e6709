import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import type { Attention } from "../instance/attention.js";
import { checkInstance } from "../instance/givenInstance.js";
import { throwIfAborted } from "../read/abort.js";
import type { TemplateClass } from "./chatTemplate.js";
import { checkedModel, refuseUnknownFields } from "./checkedModel.js";
import { releaseKept } from "./decoder.js";
import { readKnown } from "./knownNames.js";
import { Model } from "./model.js";
import type { ModelFileList } from "./modelFiles.js";
import { assertRoom, roomOf } from "./modelRoom.js";
import { PRECISIONS, type Precision } from "./parts.js";
import type { LoadProgress } from "./tensorFiles.js";
import { openTokenizer, type LibraryTokenizer, type TokenizerClass } from "./tokenizer.js";

/** Options of `loadModel`. */
export interface LoadModelOptions {
  /**
   * How matrices are kept. `"as-stored"`, the default: F32, F16 and BF16 as they are in the files. `"float16"` rounds to
   * float16: numbers of 65,520 or more become infinite. `"bfloat16"` rounds to bfloat16. `"int8"` keeps integers with
   * one scale for each output, as `quantizeWeight` makes them. Vectors, such as biases and gains, are always float32.
   */
  readonly precision?: Precision | undefined;
  /** The folder of the model, if several have config.json. Default: the one that all others lie in. */
  readonly folder?: string | undefined;
  /** Called after each piece of the weights that was read. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Ends the loading; what was loaded is freed. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Makes `model.tokenizer`: the class of a library, for tokenizer.json and tokenizer_config.json among the files, or an
   * object with `encode` and `decode`.
   */
  readonly tokenizer?: TokenizerClass | LibraryTokenizer | undefined;
  /**
   * Renders chat_template.jinja, or `chat_template` of tokenizer_config.json, for `model.tokenizer.applyChatTemplate`: a
   * library's class, such as `Template` of `@huggingface/jinja`. It needs `tokenizer`.
   */
  readonly template?: TemplateClass | undefined;
}

const OPERATION = "loadModel";
const NAMES = {
  precision: true,
  folder: true,
  onProgress: true,
  signal: true,
  tokenizer: true,
  template: true,
} as const;

/**
 * Reads a model from files that the user has chosen: config.json and weights in `.safetensors`. The models are BERT, GPT-2,
 * Llama and others, which the page "Your model" lists. Weights are read piece by piece, straight to where they
 * are kept. It fetches no file of a model: `openModel` gives those at an address. `inspectModel` says what it would do.
 *
 * @param hw - The instance that computes. The weights lie in its memory, which `maximumMemory` limits.
 * @param files - What `<input type="file" webkitdirectory>` or `openModel` gives, an array of `File`s, or `Blob`s or
 *   `Uint8Array`s by name.
 * @throws UnsupportedError if a field of config.json has a value that is not supported, or is not known; the message names
 *   both.
 * @throws OptionError if a file or a tensor is missing or damaged, or if several folders have config.json. ShapeError if a
 *   tensor has another shape than config.json says.
 * @throws OutOfMemoryError if the engine's memory is too small; the message says which precisions would fit. All of these
 *   come before any weight is read, but OutOfMemoryError also later, if the instance holds other tensors.
 * @throws The reason of `signal` if it aborts.
 */
export async function loadModel(hw: Attention, files: ModelFileList, options: LoadModelOptions = {}): Promise<Model> {
  const { known, reader } = readKnown(OPERATION, options, NAMES);
  const { precision = "as-stored", folder, tokenizer, template } = known;
  const signal = reader.signal();
  const onProgress = reader.callback("onProgress") as LoadModelOptions["onProgress"];
  if (!PRECISIONS.includes(precision))
    throw new OptionError(
      `${OPERATION}: precision must be ${PRECISIONS.map(describe).join(" or ")}, got ${describe(precision)}`,
    );
  if (template !== undefined && tokenizer === undefined)
    throw new OptionError(
      `${OPERATION}: template must be absent without tokenizer, because its text has to become tokens`,
    );
  checkInstance(OPERATION, "hw", hw, ["allocate", "linear", "multiHeadAttention"]);
  throwIfAborted(signal);
  const opened = await checkedModel(OPERATION, files, { folder, mayMiss: false });
  refuseUnknownFields(OPERATION, opened);
  const { parts, network, sentence } = opened;
  assertRoom(OPERATION, parts, precision, roomOf(hw));
  const ready = tokenizer === undefined ? undefined : await openTokenizer(OPERATION, opened.files, tokenizer, template);
  releaseKept(hw);
  hw.expectProducts(OPERATION);
  try {
    await parts.load(hw, precision, onProgress, signal);
    throwIfAborted(signal);
  } catch (error) {
    parts.dispose();
    throwIfAborted(signal);
    throw error;
  }
  return new Model(hw, network, parts, sentence, ready);
}
