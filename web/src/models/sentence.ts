import { describe, isObject } from "../base/describe.js";
import { OptionError, UnsupportedError } from "../base/errors.js";
import type { Floats } from "../tensor/plainTensor.js";
import { count, flag, Json, only, refuse } from "./configField.js";
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

/** The field of each kind of pooling. */
const FIELDS: Readonly<Record<string, Pooling>> = {
  pooling_mode_cls_token: "cls",
  pooling_mode_lasttoken: "lasttoken",
  pooling_mode_mean_tokens: "mean",
  pooling_mode_mean_sqrt_len_tokens: "mean_sqrt_len_tokens",
  pooling_mode_max_tokens: "max",
};

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
  const isNormalized = modules?.some(({ kind }) => kind === "Normalize");
  return (last, input) => {
    const row = pooledBy(mode, last, input);
    return isNormalized ? normalized(row) : row;
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
  const width = count("word_embedding_dimension", modelDim)(json);
  if (width !== modelDim) throw refuse(json, "word_embedding_dimension", `be the width of the model, ${modelDim}`);
  only("pooling_mode_weightedmean_tokens", false)(json);
  only("include_prompt", true)(json);
  const chosen = Object.keys(FIELDS).filter((name) => flag(name, false)(json));
  const [unknown] = json.unread;
  if (unknown) throw refuse(json, unknown[0], "be absent, because it is not known what it changes");
  if (chosen.length === 1) return FIELDS[chosen[0]!]!;
  throw refuse(
    json,
    chosen[1] ?? "pooling_mode_mean_tokens",
    `be ${chosen.length === 0}: one kind of pooling is supported`,
  );
}

/**
 * The files in folders inside of the model's, which a text of modules.json names. What is wrong in it, `loadModel` refuses.
 */
export function innerFilesOf(text: string): readonly string[] {
  const modules = parsed(text);
  if (!Array.isArray(modules)) return [];
  return modules.flatMap((module) => {
    const { type, path } = isObject(module) ? (module as Partial<Record<string, unknown>>) : {};
    const isPooling = typeof type === "string" && type.endsWith(".Pooling");
    return isPooling && typeof path === "string" && INSIDE.test(path) ? [fileIn(path)] : [];
  });
}

/** A path of folders, none of which is "." or "..". */
const INSIDE = /^(?!\.{1,2}(\/|$))[^/\\]+(\/(?!\.{1,2}(\/|$))[^/\\]+)*\/?$/;
