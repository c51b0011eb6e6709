import { describe, isObject } from "../base/describe.js";
import { OptionError, UnsupportedError } from "../base/errors.js";
import type { Floats } from "../tensor/plainTensor.js";
import { count, flag, Json, only, refuse, texts } from "./configField.js";
import { parsed } from "./jsonText.js";
import type { ModelFiles } from "./modelFiles.js";
import type { ModelInput } from "./modelInput.js";
import { normalized, pooledBy, type Pooling } from "./pooling.js";

/** What sentence-transformers writes beside a model: the steps from a text to its embedding. */
export const MODULES = "modules.json";
/** Where it keeps the pooling, if nothing else is said. */
export const POOLING = "1_Pooling/config.json";

const WITHOUT = `To compute the model without its embedding, leave ${MODULES} and ${POOLING} out of the files.`;

/** From the last hidden state `[…, S, modelDim]` to the embedding of each text. */
export type SentencePart = (last: Floats, input: ModelInput) => Floats;

/** The field of each kind of pooling in older files. */
const FIELDS: Readonly<Record<string, Pooling>> = {
  pooling_mode_cls_token: "cls",
  pooling_mode_lasttoken: "lasttoken",
  pooling_mode_mean_tokens: "mean",
  pooling_mode_mean_sqrt_len_tokens: "mean_sqrt_len_tokens",
  pooling_mode_max_tokens: "max",
};
/** The field of newer files, which has the kind itself, or a list of kinds. It decides where older ones stand beside it. */
const MODE = "pooling_mode";
const KINDS_OF_POOLING: readonly string[] = Object.values(FIELDS);
const isPooling = (mode: string | undefined): mode is Pooling => KINDS_OF_POOLING.includes(mode!);

/**
 * How the embedding of a text is made, if the folder says it: its pooling, and whether it gets length 1.
 *
 * @throws UnsupportedError for other steps, and other kinds of pooling; OptionError if the file of the pooling is missing.
 */
export async function sentenceOf(
  operation: string,
  files: ModelFiles,
  modelDim: number,
): Promise<SentencePart | undefined> {
  const modules = files.has(MODULES) ? modulesIn(operation, await files.list(MODULES)) : undefined;
  const name = modules ? poolingFile(modules) : POOLING;
  if (name === undefined || (!modules && !files.has(name))) return undefined;
  if (!files.has(name))
    throw new OptionError(`${operation}: files must have ${name}, which ${MODULES} names, got ${files.listed}`, {
      hint: WITHOUT,
    });
  const mode = poolingOf(new Json(`${operation}: ${name}: `, await files.json(name)), modelDim);
  const norm = modules?.find(({ kind }) => kind === "Normalize");
  const normFile = norm && fileIn(norm.path);
  if (normFile && files.has(normFile)) checkNorm(new Json(`${operation}: ${normFile}: `, await files.json(normFile)));
  return (last, input) => {
    const row = pooledBy(mode, last, input);
    return norm ? normalized(row) : row;
  };
}

interface Module {
  readonly kind: string;
  readonly path: string;
}

const KINDS = ["Transformer", "Pooling", "Normalize"];

function modulesIn(operation: string, modules: readonly unknown[]): readonly Module[] {
  return modules.map((module, n) => {
    const { type, path } = isObject(module) ? (module as Partial<Record<string, unknown>>) : {};
    const kind = typeof type === "string" ? type.slice(type.lastIndexOf(".") + 1) : "";
    if (KINDS[Math.min(n, 2)] !== kind || n > 2 || typeof path !== "string")
      throw new UnsupportedError(
        `${operation}: ${MODULES}: [${n}].type must be ${KINDS.join(", then ")}, and no more, got ${describe(type)}`,
        { hint: WITHOUT },
      );
    if (n === 0 && path !== "")
      throw new UnsupportedError(
        `${operation}: ${MODULES}: [0].path must be "", the folder of config.json, got ${describe(path)}`,
        { hint: WITHOUT },
      );
    return { kind, path };
  });
}

/** The file of the pooling; undefined if there is none. */
function poolingFile(modules: readonly Module[]): string | undefined {
  const pooling = modules.find(({ kind }) => kind === "Pooling");
  return pooling && fileIn(pooling.path);
}

const fileIn = (folder: string) => `${folder.replace(/\/$/, "")}/config.json`;

function poolingOf(json: Json, modelDim: number): Pooling {
  for (const name of ["word_embedding_dimension", "embedding_dimension"])
    if (count(name, modelDim)(json) !== modelDim) throw refuse(json, name, `be the width of the model, ${modelDim}`);
  only("pooling_mode_weightedmean_tokens", false)(json);
  only("include_prompt", true)(json);
  const older = Object.keys(FIELDS).filter((name) => flag(name, false)(json));
  const newer = texts(MODE)(json);
  refuseUnread(json);
  const [mode, ...others] = newer.length > 0 ? newer : older.map((name) => FIELDS[name]!);
  if (isPooling(mode) && others.length === 0) return mode;
  const supported = "one kind of pooling is supported";
  if (newer.length > 0) throw refuse(json, MODE, `be ${KINDS_OF_POOLING.map(describe).join(" or ")}: ${supported}`);
  throw refuse(json, older[1] ?? "pooling_mode_mean_tokens", `be ${older.length === 0}: ${supported}`);
}

/** The step that gives length 1. Older files have no configuration of it. */
function checkNorm(json: Json): void {
  for (const name of ["module_input_name", "module_output_name"]) only(name, "sentence_embedding")(json);
  refuseUnread(json);
}

function refuseUnread(json: Json): void {
  const [unknown] = json.unread;
  if (unknown) throw refuse(json, unknown[0], "be absent, because it is not known what it changes");
}

/**
 * The files in folders inside of the model's, which a text of modules.json names. What is wrong in it, `loadModel` refuses.
 */
export function innerFilesOf(text: string): readonly string[] {
  const modules = parsed(text);
  if (!Array.isArray(modules)) return [];
  return modules.flatMap((module) => {
    const { type, path } = isObject(module) ? (module as Partial<Record<string, unknown>>) : {};
    const isConfigured = typeof type === "string" && /\.(Pooling|Normalize)$/.test(type);
    return isConfigured && typeof path === "string" && INSIDE.test(path) ? [fileIn(path)] : [];
  });
}

/** A path of folders, none of which is "." or "..". */
const INSIDE = /^(?!\.{1,2}(\/|$))[^/\\]+(\/(?!\.{1,2}(\/|$))[^/\\]+)*\/?$/;
