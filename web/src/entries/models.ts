/**
 * `headwise/models`: models of the families BERT, GPT-2, Llama and others from the user's files or an address, computed by an
 * instance, with every attention layer open by name.
 *
 * @module
 */
export type { ActivationName } from "../models/activations.js";
export type { ChatMessage, ChatPrompt, ChatTemplateOptions, TemplateClass } from "../models/chatTemplate.js";
export { type GeneratedToken, type GenerateOptions, type GenerateStep } from "../models/generate.js";
export { NetworkError } from "../base/errors.js";
export { hub, type HubOptions } from "../models/hub.js";
export { inspectModel, type InspectModelOptions, type ModelPlan } from "../models/inspectModel.js";
export { loadModel, type LoadModelOptions } from "../models/loadModel.js";
export { Model, type RunOptions, type RunResult } from "../models/model.js";
export type { ModelConfig, ModelType } from "../models/modelConfig.js";
export type { ModelFileList } from "../models/modelFiles.js";
export type { EachPrecision } from "../models/modelRoom.js";
export { openModel, type OpenedFiles, type OpenModelOptions } from "../models/openModel.js";
export type { Precision } from "../models/parts.js";
export type { BlockPlace } from "../remote/blockPlace.js";
export type { OpenProgress, RemoteFile } from "../remote/remoteFile.js";
export type { LayerResult, PassOptions } from "../models/pass.js";
export type { SamplingOptions } from "../models/sampling.js";
export type { LoadProgress } from "../models/tensorFiles.js";
export {
  loadTokenizer,
  type LibraryTokenizer,
  type LoadTokenizerOptions,
  type Tokenizer,
  type TokenizerClass,
} from "../models/tokenizer.js";
export type { Tokens } from "../models/tokens.js";
