// Chat templates: from messages to text and tokens, by a library of the caller's choice.

import { describe, expect, test } from "@jest/globals";
import { Template } from "@huggingface/jinja";
import { Tokenizer as LibraryTokenizer } from "@huggingface/tokenizers";
import { createAttention, type HeadwiseError, OptionError, UnsupportedError } from "headwise";
import { loadModel, loadTokenizer, type ChatMessage, type ChatTemplateOptions } from "headwise/models";

import { CONFIGS, filesOf, randomWeights, shapesOf, textFile } from "./smallModels.js";
import { thrownBy } from "./thrownBy.js";

const WORDS = ["[UNK]", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "user", "assistant", "hi", "you"];

const special = (content: string) => ({
  id: WORDS.indexOf(content),
  content,
  special: true,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
});

/** Puts the first token before each text by itself, as the tokenizer of Llama does. */
const TOKENIZER = {
  version: "1.0",
  added_tokens: ["<s>", "</s>", "<|im_start|>", "<|im_end|>"].map(special),
  normalizer: null,
  pre_tokenizer: { type: "Whitespace" },
  post_processor: {
    type: "TemplateProcessing",
    single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
    pair: [],
    special_tokens: { "<s>": { id: "<s>", ids: [1], tokens: ["<s>"] } },
  },
  decoder: null,
  model: { type: "WordLevel", unk_token: "[UNK]", vocab: Object.fromEntries(WORDS.map((word, n) => [word, n])) },
};

/** ChatML, as Qwen 2 has it, after the first token. */
const CHAT_ML =
  "{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + " +
  "'\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** The rule of Llama 2's template. */
const TURNS =
  "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}" +
  "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}{{ message['content'] }}{% endfor %}";

const SPECIAL = { bos_token: "<s>", eos_token: { content: "</s>", __type: "AddedToken", lstrip: false } };

const filesWith = (config: object, more: Record<string, Uint8Array<ArrayBuffer>> = {}) => ({
  "tokenizer.json": textFile(TOKENIZER),
  "tokenizer_config.json": textFile({ ...SPECIAL, ...config }),
  ...more,
});

/** The library, with [UNK] for what the file does not know: for such files it gives undefined. */
class Library {
  readonly #library: LibraryTokenizer;

  constructor(...files: ConstructorParameters<typeof LibraryTokenizer>) {
    this.#library = new LibraryTokenizer(...files);
  }

  encode(text: string, options?: object): number[] {
    return this.#library.encode(text, options).ids.map((id: number | undefined) => id ?? WORDS.indexOf("[UNK]"));
  }

  decode(tokens: number[]): string {
    return this.#library.decode(tokens);
  }
}

const open = (config: object, more?: Record<string, Uint8Array<ArrayBuffer>>) =>
  loadTokenizer(filesWith(config, more), Library, { template: Template });

const HI: readonly ChatMessage[] = [{ role: "user", content: "hi you" }];

const textOf = async (template: unknown, options?: ChatTemplateOptions) =>
  (await open({ chat_template: template })).applyChatTemplate(HI, options).text;

describe("A chat template", () => {
  test("makes the text of messages, and its tokens without a second first token", async () => {
    const tokenizer = await open({ chat_template: CHAT_ML });
    const { text, tokens } = tokenizer.applyChatTemplate(HI, { addGenerationPrompt: true });
    expect(text).toBe("<s><|im_start|>user\nhi you<|im_end|>\n<|im_start|>assistant\n");
    expect(tokens).toEqual([1, 3, 5, 7, 8, 4, 3, 6]);
    expect(tokenizer.encode("hi")).toEqual([1, 7]);
    expect(tokenizer.applyChatTemplate(HI).text).toBe("<s><|im_start|>user\nhi you<|im_end|>\n");
  });

  test("has special tokens that are texts or objects", async () => {
    expect(await textOf("{{ bos_token }}|{{ eos_token }}|{{ pad_token is defined }}")).toBe("<s>|</s>|false");
  });

  test("drops the line break after a block, as transformers does", async () => {
    expect(await textOf("  {% if true %}\na\n  {% endif %}\nb")).toBe("a\nb");
  });

  test("in chat_template.jinja comes before that in tokenizer_config.json", async () => {
    const file = { "chat_template.jinja": new TextEncoder().encode("file: {{ messages[0].content }}") };
    const tokenizer = await open({ chat_template: CHAT_ML }, file);
    expect(tokenizer.applyChatTemplate(HI).text).toBe("file: hi you");
  });

  test("may lie in a file with its name, in additional_chat_templates", async () => {
    const file = (text: string) => new TextEncoder().encode(text);
    const others = {
      "additional_chat_templates/tool_use.jinja": file("{{ tools | length }} tools"),
      "additional_chat_templates/rag.jinja": file("rag"),
    };
    const list = [
      { name: "default", template: CHAT_ML },
      { name: "old", template: "old" },
    ];
    const tokenizer = await open({ chat_template: list }, { "chat_template.jinja": file("plain"), ...others });
    const text = (options?: ChatTemplateOptions) => tokenizer.applyChatTemplate(HI, options).text;
    expect(text()).toBe("plain");
    expect(text({ tools: [{}, {}] })).toBe("2 tools");
    expect(text({ tools: [{}], name: "default" })).toBe("plain");
    expect(text({ name: "rag" })).toBe("rag");
    expect(() => text({ name: "old" })).toThrow('name must be that of a template, "default" or "tool_use" or "rag"');
    const alone = await open({ chat_template: CHAT_ML }, others);
    expect(() => alone.applyChatTemplate(HI)).toThrow('name must be that of a template, "tool_use" or "rag"');
    expect(alone.applyChatTemplate(HI, { tools: [{}] }).text).toBe("1 tools");
  });

  test("is chosen from a list by its name, or because there are tools", async () => {
    const list = [
      { name: "default", template: "plain" },
      { name: "tool_use", template: "{{ tools | length }} tools" },
      { name: "rag", template: "{{ documents[0].text }}" },
    ];
    expect(await textOf(list)).toBe("plain");
    expect(await textOf(list, { tools: [{}, {}] })).toBe("2 tools");
    expect(await textOf(list, { tools: [{}], name: "default" })).toBe("plain");
    expect(await textOf(list, { name: "rag", documents: [{ text: "d" }] })).toBe("d");
    expect(await textOf(list.slice(0, 1), { tools: [{}] })).toBe("plain");
  });

  test("takes other variables", async () => {
    const template = "{{ messages | length }} {{ enable_thinking }} {{ tools is none }}";
    expect(await textOf(template, { variables: { enable_thinking: false } })).toBe("1 false true");
  });

  test("belongs to the tokenizer of a model, also to one that is an object", async () => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const files = {
      ...filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))),
      ...filesWith({ chat_template: CHAT_ML }),
    };
    const given: unknown[] = [];
    const object = { encode: (...all: unknown[]) => (given.push(all), [1]), decode: () => "" };
    for (const tokenizer of [LibraryTokenizer, object]) {
      const model = await loadModel(hw, files, { tokenizer, template: Template });
      const { text, tokens } = model.tokenizer!.applyChatTemplate(HI);
      expect(text).toContain("hi you");
      expect((await model.run(tokens, { logits: "last" })).logits!.shape).toEqual([29]);
    }
    expect(given).toEqual([[expect.stringContaining("hi you"), { add_special_tokens: false }]]);
    await expect(loadModel(hw, files, { template: Template })).rejects.toThrow(
      "template must be absent without tokenizer",
    );
    hw.dispose();
  });
});

test.each([
  ["add_generation_prompt", true, "option addGenerationPrompt"],
  ["tools", [], "option tools"],
  ["documents", [], "option documents"],
  ["messages", HI, "argument messages"],
])("The variable %s of a chat template is refused, because it has its own place", async (name, value, place) => {
  const tokenizer = await open({ chat_template: CHAT_ML });
  const error = thrownBy(() => tokenizer.applyChatTemplate(HI, { variables: { [name]: value } }));
  expect(error.message).toBe(
    `tokenizer.applyChatTemplate: variables.${name} must be absent, because the ${place} gives it`,
  );
  expect(OptionError.is(error)).toBe(true);
});

describe("What a chat template cannot do is refused by the rule", () => {
  const errorOf = async (
    config: object,
    messages: unknown = HI,
    options: object = {},
    library = { template: Template },
  ) => {
    try {
      const tokenizer = await loadTokenizer(filesWith(config), LibraryTokenizer, library);
      tokenizer.applyChatTemplate(messages as typeof HI, options);
    } catch (error) {
      return error as HeadwiseError;
    }
    throw new Error("it was rendered");
  };
  const chat = { chat_template: CHAT_ML };

  test.each<readonly [string, Promise<HeadwiseError>, string]>([
    [
      "no template",
      errorOf({}),
      "the files must have a chat template: chat_template.jinja, or chat_template in tokenizer_config.json, got tokenizer.json, tokenizer_config.json",
    ],
    [
      "no library",
      errorOf(chat, HI, {}, {} as never),
      "the option template must be given to loadModel or loadTokenizer",
    ],
    [
      "a library that is no class",
      errorOf(chat, HI, {}, { template: 3 as never }),
      "template must be a class that renders Jinja",
    ],
    ["another name", errorOf(chat, HI, { name: "rag" }), 'name must be that of a template, "default", got "rag"'],
    [
      "what the template raises",
      errorOf({ chat_template: TURNS }, [{ role: "assistant", content: "hi" }]),
      "messages must be what the model's template takes. It says: Conversation roles must alternate user/assistant",
    ],
    ["no messages", errorOf(chat, []), "messages must be an array of at least one message, got []"],
    ["a text", errorOf(chat, "hi"), 'messages must be an array of at least one message, got "hi"'],
    [
      "a message that is a text",
      errorOf(chat, ["hi"]),
      'messages[0] must be an object with a role, such as "user", got "hi"',
    ],
    [
      "no role",
      errorOf(chat, [...HI, { content: "hi" }]),
      'messages[1] must be an object with a role, such as "user", got undefined',
    ],
    [
      "no content",
      errorOf(chat, [{ role: "user" }]),
      "messages[0].content must be a text or an array of parts, or be absent beside",
    ],
    ["content that is a number", errorOf(chat, [{ role: "user", content: 3 }]), "tool_calls, got 3"],
    ["tools that are no list", errorOf(chat, HI, { tools: {} }), "tools must be an array, got an empty object"],
    ["variables that are a list", errorOf(chat, HI, { variables: [] }), "variables must be an object, got []"],
    ["an unknown option", errorOf(chat, HI, { add_generation_prompt: true }), 'unknown option "add_generation_prompt"'],
    [
      "a template that is an object",
      errorOf({ chat_template: { a: 1 } }),
      "chat_template must be a text, or a list of { name, template }",
    ],
  ])("%s", async (_, thrown, message) => {
    const error = await thrown;
    expect(error.message).toContain(message);
    expect(OptionError.is(error)).toBe(true);
  });

  test("but files are read only if there is a library for them", async () => {
    const broken = { ...filesWith({}), "tokenizer_config.json": new TextEncoder().encode("{") };
    const files = { ...filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))), ...broken };
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const model = await loadModel(hw, files, { tokenizer: { encode: () => [1], decode: () => "" } });
    expect(() => model.tokenizer!.applyChatTemplate(HI)).toThrow("the option template must be given");
    hw.dispose();
    await loadTokenizer(filesWith({ chat_template: { a: 1 } }), LibraryTokenizer); // nothing is rendered with it
  });

  test("a template that the library cannot read", async () => {
    const error = await errorOf({ chat_template: "{% for %}" });
    expect(error.message).toContain("the library cannot read the model's template. It says: ");
    expect(UnsupportedError.is(error)).toBe(true);
  });

  test("that of a message is said by its cause and its hint", async () => {
    const { cause, hint } = await errorOf({ chat_template: TURNS }, [{ role: "assistant", content: "hi" }]);
    expect((cause as Error).message).toBe("Conversation roles must alternate user/assistant");
    expect(hint).toContain("Each template has rules of its own");
  });
});
