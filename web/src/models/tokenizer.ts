import { isCallable, isConstructor } from "../base/callable.js";
import { describe, isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind, isArray } from "../base/typedArray.js";
import {
  ChatTemplate,
  type ChatMessage,
  type ChatPrompt,
  type ChatTemplateOptions,
  type TemplateClass,
} from "./chatTemplate.js";
import { readKnown } from "./knownNames.js";
import { ModelFiles, type ModelFileList } from "./modelFiles.js";

/** From texts and chats to tokens, and back. */
export interface Tokenizer {
  /**
   * The tokens of a text.
   *
   * @param options - They go to the library as they are.
   */
  readonly encode: (text: string, options?: object) => number[];
  /** The text of tokens. */
  readonly decode: (tokens: Iterable<number>, options?: object) => string;
  /**
   * A chat as one text and its tokens, by the model's template.
   *
   * @throws OptionError if the files have no template, if no library for templates was given, if a message is malformed, or
   *   if the template does not take the messages. UnsupportedError if the library cannot read the template.
   */
  readonly applyChatTemplate: (messages: readonly ChatMessage[], options?: ChatTemplateOptions) => ChatPrompt;
}

/** A tokenizer of a library. `encode` gives the tokens, or an object that has them as `ids` or `input_ids`. */
export interface LibraryTokenizer {
  encode(text: string, options?: object): unknown;
  decode(tokens: number[], options?: object): string;
}

/**
 * A class of a library that makes a tokenizer from the contents of tokenizer.json and tokenizer_config.json, such as
 * `Tokenizer` of `@huggingface/tokenizers`.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- a library declares its own types for the two files
export type TokenizerClass = new (tokenizer: any, config: any) => LibraryTokenizer;

/** Options of `loadTokenizer`. */
export interface LoadTokenizerOptions {
  /** The folder of the files, if several have tokenizer.json. Default: the one that all others lie in. */
  readonly folder?: string | undefined;
  /** Renders the model's chat template for `applyChatTemplate`: a library's class, such as `Template` of `@huggingface/jinja`. */
  readonly template?: TemplateClass | undefined;
}

const OPERATION = "loadTokenizer";

/**
 * The tokenizer of a model, by a library of your choice. headwise has none of its own.
 *
 * @param files - They must have tokenizer.json; tokenizer_config.json may be there too.
 * @param library - The library's class.
 * @throws OptionError if tokenizer.json is missing; with code `"CORRUPT_DATA"` if it is damaged. The errors of the library.
 */
export async function loadTokenizer(
  files: ModelFileList,
  library: TokenizerClass,
  options: LoadTokenizerOptions = {},
): Promise<Tokenizer> {
  const { folder, template } = readKnown(OPERATION, options, { folder: true, template: true }).known;
  const given = new ModelFiles(OPERATION, files, { anchor: "tokenizer.json", folder });
  return openTokenizer(OPERATION, given, library, template);
}

/** The tokenizer of files, by a class or by an object that is ready. */
export async function openTokenizer(
  operation: string,
  files: ModelFiles,
  library: TokenizerClass | LibraryTokenizer,
  template: TemplateClass | undefined,
): Promise<Tokenizer> {
  const CONFIG = "tokenizer_config.json";
  const isRead = isConstructor(library) || template !== undefined;
  const config = isRead && files.has(CONFIG) ? await files.json(CONFIG) : {};
  const chats = await ChatTemplate.open(operation, files, config, template);
  if (!isConstructor(library)) return adapted(operation, library as LibraryTokenizer, chats);
  const Library = library as TokenizerClass;
  return adapted(operation, new Library(await files.json("tokenizer.json"), config), chats);
}

function adapted(operation: string, library: LibraryTokenizer, chats: ChatTemplate): Tokenizer {
  for (const name of ["encode", "decode"] as const)
    if (!guarded(operation, `tokenizer.${name}`, () => isObject(library) && isCallable(Reflect.get(library, name))))
      throw new OptionError(
        `${operation}: tokenizer must be a class, or an object with encode and decode, got ${describe(library)}`,
      );
  const encode: Tokenizer["encode"] = (text, options) => {
    if (typeof text !== "string")
      throw new OptionError(`tokenizer.encode: text must be a string, got ${describe(text)}`);
    return tokensOf(library.encode(text, options));
  };
  return {
    encode,
    decode: (tokens, options) => {
      const list = listOf(tokens);
      return list.length === 0 ? "" : library.decode(list, options); // some libraries refuse an empty list
    },
    applyChatTemplate: (messages, options = {}) => {
      const text = chats.render(messages, options);
      return { text, tokens: encode(text, { add_special_tokens: false }) };
    },
  };
}

/** The tokens that `encode` of a library has given. Whether the model has them, the model checks. */
function tokensOf(encoded: unknown): number[] {
  const { ids, input_ids: inputs } = (isObject(encoded) ? encoded : {}) as Readonly<Record<string, unknown>>;
  const list = ids ?? inputs ?? encoded;
  const all = isArray(list) || arrayKind(list) ? Array.from(list as ArrayLike<unknown>) : undefined;
  if (!all || all.some(isObject))
    throw new OptionError(
      "tokenizer.encode: the library must give a list of tokens, or an object with it as ids or input_ids, " +
        `got ${describe(list)}`,
    );
  const wrong = all.findIndex((token) => !isToken(token));
  if (wrong < 0) return all.map(Number);
  throw new OptionError(
    `tokenizer.encode: the library must give integers of 0 or more as tokens, got ${describe(all[wrong])} as token ${wrong}`,
    { hint: "Its tokenizer.json may have no token for what it does not know." },
  );
}

const isToken = (token: unknown) =>
  (typeof token === "number" || typeof token === "bigint") && Number.isSafeInteger(Number(token)) && token >= 0;

/** The tokens that `decode` was given. */
function listOf(tokens: unknown): number[] {
  if (isObject(tokens) && Symbol.iterator in tokens) return [...(tokens as Iterable<number>)];
  throw new OptionError(`tokenizer.decode: tokens must be a list of tokens, got ${describe(tokens)}`);
}
