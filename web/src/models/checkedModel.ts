import { describe } from "../base/describe.js";
import { UnsupportedError } from "../base/errors.js";
import { Json, readFields, tokens, word, refuse } from "./configField.js";
import { FAMILIES } from "./families.js";
import { isIgnored } from "./ignoredFields.js";
import { ARCHITECTURES, MODEL_TYPES, type ModelType } from "./modelConfig.js";
import { ModelFiles, type ModelFileList } from "./modelFiles.js";
import { networkOf, type Network } from "./network.js";
import { Parts } from "./parts.js";
import { refuseQuantised } from "./quantised.js";
import { sentenceOf, type SentencePart } from "./sentence.js";
import { TensorFiles } from "./tensorFiles.js";
import { missing } from "./weightFiles.js";

/** A model whose files were opened and checked. No weight has been read. */
export interface CheckedModel {
  readonly files: ModelFiles;
  readonly tensors: TensorFiles;
  readonly parts: Parts;
  readonly network: Network;
  /** How the embedding of a text is made; undefined: the files do not say it. */
  readonly sentence: SentencePart | undefined;
  /** Fields of config.json that nothing reads, and that may change what the model computes. */
  readonly unknownFields: readonly (readonly [name: string, value: unknown])[];
  /** Fields of config.json that nothing reads, because they change nothing. */
  readonly ignoredFields: readonly string[];
}

/** How files are opened. */
interface Opening {
  readonly folder: string | undefined;
  /** Whether files with weights may be missing. */
  readonly mayMiss: boolean;
}

const CONFIG = "config.json";
const GENERATION = "generation_config.json";

/**
 * Opens a model: reads its configuration and the headers of its weights.
 *
 * @throws The errors of `inspectModel`.
 */
export async function checkedModel(
  operation: string,
  given: ModelFileList,
  { folder, mayMiss }: Opening,
): Promise<CheckedModel> {
  const files = new ModelFiles(operation, given, { anchor: CONFIG, folder });
  if (!files.has(CONFIG)) throw missing(operation, files, CONFIG);
  const json = new Json(`${operation}: ${CONFIG}: `, await files.json(CONFIG));
  const modelType = modelTypeOf(json);
  refuseQuantised(operation, json, files, []);
  const stopTokens = await stopTokensOf(operation, files);
  const tensors = await TensorFiles.open(operation, files, mayMiss);
  refuseQuantised(operation, json, files, tensors.names);
  const parts = new Parts(tensors);
  const { config, ...network } = checkedNetwork(operation, modelType, json, parts);
  refuseOtherBiases(operation, modelType, tensors, parts);
  const sentence = await sentenceOf(operation, files, config.modelDim);
  const isWord = (token: number) => token >= 0 && token < config.vocabSize; // some files write -1 for none
  tensors.assertNoHoles();
  const { unread } = json;
  return {
    files,
    tensors,
    parts,
    sentence,
    network: { ...network, config: { ...config, stopTokens: (stopTokens ?? config.stopTokens).filter(isWord) } },
    unknownFields: unread.filter(([name]) => !isIgnored(name)),
    ignoredFields: unread.map(([name]) => name).filter(isIgnored),
  };
}

/** Throws if a matrix or a gain of the model has a bias in the files that config.json does not know. */
function refuseOtherBiases(
  operation: string,
  modelType: ModelType,
  tensors: TensorFiles,
  { tensors: used }: Parts,
): void {
  const read = new Set(used.map(({ name }) => name));
  const { decoder, bias: hasOther } = FAMILIES[modelType].heads.words ?? {};
  for (const name of read) {
    const [, stem] = /^(.*)\.weight$/.exec(name) ?? [];
    if (stem === undefined || (stem === decoder && hasOther)) continue; // its bias is read by another name
    const bias = `${stem}.bias`;
    if (tensors.has(bias) && !read.has(bias))
      throw new UnsupportedError(
        `${operation}: tensor ${describe(bias)} must be absent, because ${CONFIG} says that ${describe(stem)} has no bias`,
        { hint: "If the model has it, a field of config.json may say so, such as attention_bias or mlp_bias." },
      );
  }
}

/** Throws if config.json has a field that nothing reads and that may change what the model computes. */
export function refuseUnknownFields(operation: string, { unknownFields: [first] }: CheckedModel): void {
  if (!first) return;
  const [name, value] = first;
  throw new UnsupportedError(
    `${operation}: ${CONFIG}: ${name} must be absent, because it is not known what it changes, got ${describe(value)}`,
    { hint: "If it changes nothing in this model, take it out of config.json." },
  );
}

/** `model_type`. Files of 2019 lack it, and name a class in `architectures`: the longest name that it begins with. */
function modelTypeOf(json: Json): ModelType {
  const [name] = ARCHITECTURES(json);
  const classOf = (type: ModelType) => FAMILIES[type].className.toLowerCase();
  const [ofName] = MODEL_TYPES.filter((type) => name?.toLowerCase().startsWith(classOf(type))).sort(
    (a, b) => classOf(b).length - classOf(a).length,
  );
  if (json.value("model_type") === undefined && name !== undefined && ofName === undefined)
    throw refuse(
      json,
      "architectures",
      `begin with ${MODEL_TYPES.map((type) => describe(FAMILIES[type].className)).join(" or ")} if model_type is absent`,
    );
  return word("model_type", MODEL_TYPES, ofName)(json);
}

/** `eos_token_id` of generation_config.json; undefined if it is absent. */
async function stopTokensOf(operation: string, files: ModelFiles): Promise<readonly number[] | undefined> {
  if (!files.has(GENERATION)) return undefined;
  const json = new Json(`${operation}: ${GENERATION}: `, await files.json(GENERATION));
  const { stopTokens } = readFields(json, { stopTokens: tokens("eos_token_id") });
  return stopTokens.length > 0 ? stopTokens : undefined;
}

function checkedNetwork(operation: string, modelType: ModelType, json: Json, parts: Parts): Network {
  const network = networkOf(modelType, json, parts);
  const { numHeads, numKvHeads, headDim } = network.config;
  if (!Number.isInteger(headDim) || !Number.isInteger(numHeads / numKvHeads))
    throw new UnsupportedError(
      `${operation}: ${CONFIG}: the heads must divide the width, and the key heads the query heads, got ` +
        `${numHeads} heads, ${numKvHeads} key heads and a width of ${headDim} per head`,
    );
  return network;
}
