import { OptionError } from "../base/errors.js";
import type { Attention } from "../instance/attention.js";
import { checkInstance } from "../instance/givenInstance.js";
import { DEFAULT_MEMORY } from "../instance/usableMemory.js";
import { product } from "../tensor/product.js";
import { checkedModel } from "./checkedModel.js";
import { readKnown } from "./knownNames.js";
import type { ModelConfig } from "./modelConfig.js";
import type { ModelFileList } from "./modelFiles.js";
import { eachPrecision, neededBytes, roomOf, roomOfMemory, type EachPrecision } from "./modelRoom.js";
import { PRECISIONS, type Precision } from "./parts.js";

/** Options of `inspectModel`. */
export interface InspectModelOptions {
  /** The folder of the model, if several have config.json. Default: the one that all others lie in. */
  readonly folder?: string | undefined;
  /** The instance that would compute. Its memory is the limit. */
  readonly hw?: Attention | undefined;
  /** Without `hw`: `maximumMemory` of the instance that would compute, in bytes. Default: 1 GiB, as in createAttention. */
  readonly maximumMemory?: number | undefined;
}

/** What `loadModel` would do with files. All sizes are bytes. */
export interface ModelPlan {
  /** The folder whose files are read; "" if the files have names only. */
  readonly folder: string;
  /** The family and the sizes. */
  readonly config: ModelConfig;
  /** The number of weights. */
  readonly parameters: number;
  /** Bytes of the weights in the files. */
  readonly storedBytes: number;
  /** What the weights take with each precision, as `model.bytes` counts it. A GPU adds rows that fill up tiles. */
  readonly bytes: EachPrecision;
  /** The most bytes of the instance's memory that loading needs at a time, with each precision. */
  readonly neededBytes: EachPrecision;
  /** What the instance's memory has for a model; undefined with WebGPU, which does not tell. */
  readonly limitBytes: number | undefined;
  /** The precisions that fit the limit; all if there is none. */
  readonly fits: readonly Precision[];
  /** Files that are missing. Then the numbers above are those of config.json; tensors that are missing count as float32. */
  readonly missingFiles: readonly string[];
  /** Tensors of the files that nothing reads. */
  readonly unusedTensors: readonly string[];
  /** Fields of config.json that nothing reads because they change nothing. */
  readonly ignoredFields: readonly string[];
  /** Other fields of config.json that nothing reads. If there are any, `loadModel` refuses the model. */
  readonly unknownFields: readonly string[];
}

const OPERATION = "inspectModel";
const NAMES = { folder: true, hw: true, maximumMemory: true } as const;

/**
 * Says what `loadModel` would do with files: what the model is, which precisions fit, and what is missing or unused. It reads
 * the configuration and the headers of `.safetensors` files, and no weights.
 *
 * @param files - As those of `loadModel`.
 * @throws UnsupportedError if a field of config.json has a value that is not supported, or if the weights are quantised.
 * @throws OptionError if config.json or a tensor is missing, if a file is damaged or a pointer of Git LFS, or if several
 *   folders have config.json. ShapeError if a tensor has another shape than config.json says.
 */
export async function inspectModel(files: ModelFileList, options: InspectModelOptions = {}): Promise<ModelPlan> {
  const { folder, hw, maximumMemory } = readKnown(OPERATION, options, NAMES).known;
  if (hw !== undefined) checkInstance(OPERATION, "hw", hw, ["allocate", "linear", "multiHeadAttention"]);
  if (hw && maximumMemory !== undefined)
    throw new OptionError(`${OPERATION}: maximumMemory must be absent if hw is given, which has its own`);
  const room = hw ? roomOf(hw) : roomOfMemory(OPERATION, maximumMemory === undefined ? DEFAULT_MEMORY : maximumMemory);
  const opened = await checkedModel(OPERATION, files, { folder, mayMiss: true });
  const { parts, tensors, network } = opened;
  const read = new Map(parts.tensors.map((tensor) => [tensor.name, tensor]));
  const used = [...read.values()];
  const needed = neededBytes(parts, room);
  const { limit } = room;
  return {
    folder: opened.files.folder,
    config: network.config,
    parameters: used.reduce((sum, { shape }) => sum + product(shape), 0),
    storedBytes: used.reduce((sum, { numBytes }) => sum + numBytes, 0),
    bytes: eachPrecision((precision) => parts.bytesWith({ precision, ...room }).kept),
    neededBytes: needed,
    limitBytes: limit,
    fits: PRECISIONS.filter((precision) => limit === undefined || needed[precision] <= limit),
    missingFiles: tensors.missing,
    unusedTensors: tensors.names.filter((name) => !read.has(name)),
    ignoredFields: opened.ignoredFields,
    unknownFields: opened.unknownFields.map(([name]) => name),
  };
}
