import { isConstructor } from "../base/callable.js";
import { describe, isObject } from "../base/describe.js";
import { OptionError, UnsupportedError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { isArray } from "../base/typedArray.js";
import { readKnown } from "./knownNames.js";
import type { ModelFiles } from "./modelFiles.js";

/** A message of a chat. The fields below are those that templates of published models read. */
export interface ChatMessage {
  /** Who speaks: `"system"`, `"user"`, `"assistant"`, `"tool"`; the template says which it takes. */
  readonly role: string;
  /** A text, or parts such as `{ type: "text", text }`. May be absent if the message calls tools. */
  readonly content?: string | readonly object[] | null | undefined;
  readonly name?: string | undefined;
  readonly reasoning_content?: string | undefined;
  readonly tool_calls?: readonly object[] | undefined;
  readonly tool_call_id?: string | undefined;
}

/** Options of `tokenizer.applyChatTemplate`. */
export interface ChatTemplateOptions {
  /** Whether the text ends with the beginning of an answer, which the model continues. Default: false, as in transformers. */
  readonly addGenerationPrompt?: boolean | undefined;
  /**
   * Which template, if tokenizer_config.json has several by name. Default: `"tool_use"` if there are tools and such a template,
   * otherwise `"default"`.
   */
  readonly name?: string | undefined;
  /** Functions that the model may call, as JSON schemas. */
  readonly tools?: readonly object[] | undefined;
  /** Texts that the model may cite. */
  readonly documents?: readonly object[] | undefined;
  /** Other variables of the template, such as `{ enable_thinking: false }`. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

/** A chat as one text. */
export interface ChatPrompt {
  readonly text: string;
  /** The tokens of the text. The template writes special tokens, such as the first one, so the tokenizer adds none. */
  readonly tokens: number[];
}

/** A class of a library that renders templates of Jinja, such as `Template` of `@huggingface/jinja`. */
export type TemplateClass = new (template: string) => { render(variables: Record<string, unknown>): string };

const OPERATION = "tokenizer.applyChatTemplate";
const NAMES = { addGenerationPrompt: true, name: true, tools: true, documents: true, variables: true } as const;
/** The file that holds the template `"default"`. Files of templates come before those in tokenizer_config.json. */
export const TEMPLATE = "chat_template.jinja";
/** Where other templates lie, each in a file with its name. */
const OTHERS = /^additional_chat_templates\/([^/]+)\.jinja$/;
/** The file of the template that is taken if there are tools. */
export const TOOL_TEMPLATE = "additional_chat_templates/tool_use.jinja";
const FIELD = "chat_template";
/** Variables of templates, and what gives them. */
const GIVEN = {
  messages: "argument messages",
  add_generation_prompt: "option addGenerationPrompt",
  tools: "option tools",
  documents: "option documents",
};
const [DEFAULT, WITH_TOOLS] = ["default", "tool_use"];

/** The chat templates of a model, and the library that renders them. */
export class ChatTemplate {
  readonly #templates: ReadonlyMap<string, string>;
  readonly #tokens: Readonly<Record<string, string>>;
  readonly #library: TemplateClass | undefined;
  readonly #listed: string;

  /**
   * @param templates - The templates by name.
   * @param tokens - Special tokens by their names in templates: `bos_token`, `eos_token`, …
   * @param listed - The names of the files, for messages.
   */
  private constructor(
    templates: ReadonlyMap<string, string>,
    tokens: Readonly<Record<string, string>>,
    library: TemplateClass | undefined,
    listed: string,
  ) {
    this.#templates = templates;
    this.#tokens = tokens;
    this.#library = library;
    this.#listed = listed;
  }

  /**
   * Reads the templates of files, if there is a library for them. Files without one are no error before a chat is rendered.
   *
   * @param config - The contents of tokenizer_config.json.
   * @throws OptionError if `library` is no class; with code `"CORRUPT_DATA"` if `chat_template` is neither a text nor a list.
   */
  static async open(
    operation: string,
    files: ModelFiles,
    config: Readonly<Record<string, unknown>>,
    library: TemplateClass | undefined,
  ): Promise<ChatTemplate> {
    if (library !== undefined && !isConstructor(library))
      throw new OptionError(
        `${operation}: template must be a class that renders Jinja, such as Template of @huggingface/jinja, ` +
          `got ${describe(library)}`,
      );
    return new ChatTemplate(
      library ? await templatesOf(operation, files, config) : new Map(),
      specialTokens(config),
      library,
      files.listed,
    );
  }

  /**
   * The text of a chat.
   *
   * @throws OptionError if the files have no template, if no library was given, if a message is malformed, or if the template
   *   does not take the messages. UnsupportedError if the library cannot read the template.
   */
  render(messages: readonly ChatMessage[], options: ChatTemplateOptions): string {
    const { known, reader } = readKnown(OPERATION, options, NAMES);
    const { name, tools, documents, variables } = known;
    const add_generation_prompt = reader.flag("addGenerationPrompt", false);
    checkLists({ tools, documents });
    if (variables !== undefined && !isRecord(variables)) throw reader.refuse("variables", "be an object");
    for (const [variable, place] of Object.entries(GIVEN))
      if (variables?.[variable] !== undefined)
        throw new OptionError(`${OPERATION}: variables.${variable} must be absent, because the ${place} gives it`);
    guarded(OPERATION, "messages", () => checkMessages(messages));
    const Library = this.#given();
    const template = parsed(Library, this.#chosen(name, tools !== undefined));
    const own = { messages, tools: tools ?? null, documents: documents ?? null, add_generation_prompt };
    try {
      return template.render({ ...this.#tokens, ...variables, ...own });
    } catch (cause) {
      throw new OptionError(`${OPERATION}: messages must be what the model's template takes. It says: ${said(cause)}`, {
        hint: "Each template has rules of its own, such as that user and assistant take turns.",
        cause,
      });
    }
  }

  /** The template of a name. */
  #chosen(name: string | undefined, hasTools: boolean): string {
    const names = [...this.#templates.keys()];
    if (names.length === 0)
      throw new OptionError(
        `${OPERATION}: the files must have a chat template: ${TEMPLATE}, or ${FIELD} in tokenizer_config.json, got ${this.#listed}`,
        { hint: "A model that was not trained for chats has none." },
      );
    const template = this.#templates.get(name ?? (hasTools && names.includes(WITH_TOOLS) ? WITH_TOOLS : DEFAULT));
    if (template !== undefined) return template;
    const rule = names.map(describe).join(" or ");
    throw new OptionError(`${OPERATION}: name must be that of a template, ${rule}, got ${describe(name)}`);
  }

  #given(): TemplateClass {
    if (this.#library) return this.#library;
    throw new OptionError(`${OPERATION}: the option template must be given to loadModel or loadTokenizer`, {
      hint: "`npm install @huggingface/jinja`, then `{ tokenizer: Tokenizer, template: Template }`.",
    });
  }
}

function parsed(Library: TemplateClass, template: string): InstanceType<TemplateClass> {
  try {
    return new Library(template);
  } catch (cause) {
    throw new UnsupportedError(`${OPERATION}: the library cannot read the model's template. It says: ${said(cause)}`, {
      hint: "A newer version of the library may be able to.",
      cause,
    });
  }
}

const isRecord = (value: unknown): boolean => isObject(value) && !isArray(value);

/** What an error of the library says. */
const said = (cause: unknown) => (cause instanceof Error ? cause.message : describe(cause));

/** The templates in files of their own, otherwise those of tokenizer_config.json. */
async function templatesOf(
  operation: string,
  files: ModelFiles,
  config: Readonly<Record<string, unknown>>,
): Promise<ReadonlyMap<string, string>> {
  const others = files.names.flatMap((file) => {
    const name = OTHERS.exec(file)?.[1];
    return name === undefined ? [] : [[name, file] as const];
  });
  const own = [...(files.has(TEMPLATE) ? [[DEFAULT, TEMPLATE] as const] : []), ...others];
  if (own.length === 0) return templatesIn(operation, config[FIELD]);
  return new Map(await Promise.all(own.map(async ([name, file]) => [name, await files.text(file)] as const)));
}

/** `chat_template` of tokenizer_config.json: one text, or a list of texts with names. */
function templatesIn(operation: string, given: unknown): ReadonlyMap<string, string> {
  if (given === undefined || given === null) return new Map();
  const all = Array.isArray(given) ? (given as unknown[]) : [{ name: DEFAULT, template: given }];
  const entries = all.map((entry) => {
    const { name, template } = (isObject(entry) ? entry : {}) as Readonly<Record<string, unknown>>;
    if (typeof name === "string" && typeof template === "string") return [name, template] as const;
    throw new OptionError(
      `${operation}: tokenizer_config.json: ${FIELD} must be a text, or a list of { name, template }, got ${describe(given)}`,
      { code: "CORRUPT_DATA" },
    );
  });
  return new Map(entries);
}

/** The special tokens of tokenizer_config.json: each is a text, or an object with the text as `content`. */
function specialTokens(config: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const textOf = (token: unknown) => (isObject(token) ? (token as { readonly content?: unknown }).content : token);
  const tokens = Object.entries(config)
    .filter(([name]) => name.endsWith("_token"))
    .map(([name, token]) => [name, textOf(token)] as const);
  return Object.fromEntries(tokens.filter((entry): entry is readonly [string, string] => typeof entry[1] === "string"));
}

function checkLists(lists: Readonly<Record<string, unknown>>): void {
  for (const [name, list] of Object.entries(lists))
    if (list !== undefined && !isArray(list))
      throw new OptionError(`${OPERATION}: ${name} must be an array, got ${describe(list)}`);
}

function checkMessages(messages: unknown): void {
  if (!isArray(messages) || (messages as unknown[]).length === 0)
    throw new OptionError(`${OPERATION}: messages must be an array of at least one message, got ${describe(messages)}`);
  (messages as unknown[]).forEach((message, n) => {
    const { role, content, tool_calls: calls } = (isObject(message) ? message : {}) as Partial<ChatMessage>;
    if (typeof role !== "string" || role === "")
      throw new OptionError(
        `${OPERATION}: messages[${n}] must be an object with a role, such as "user", got ${describe(isObject(message) ? role : message)}`,
      );
    const isAbsent = content === undefined || content === null;
    if (isAbsent ? !isArray(calls) : typeof content !== "string" && !isArray(content))
      throw new OptionError(
        `${OPERATION}: messages[${n}].content must be a text or an array of parts, or be absent beside tool_calls, ` +
          `got ${describe(content)}`,
      );
  });
}
