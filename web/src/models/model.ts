import type { NoReturns } from "../attention/attentionResult.js";
import { describe } from "../base/describe.js";
import { DisposedError, OptionError, ShapeError, UnsupportedError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { isArray } from "../base/typedArray.js";
import { CACHE_DTYPES } from "../cache/cacheDtype.js";
import type { Attention } from "../instance/attention.js";
import type { ForwardReturns } from "../layer/views.js";
import { assertNumber, type Floats } from "../tensor/plainTensor.js";
import type { MaskLike, TypedTensor } from "../tensor/tensor.js";
import { Disposing } from "../turn/disposable.js";
import { inRoom, KeptDecoder } from "./decoder.js";
import { tokenAt } from "./elementwise.js";
import { FAMILIES } from "./families.js";
import {
  generated,
  modelDisposed,
  readStepPatches,
  type GeneratedToken,
  type GenerateOptions,
  type GenerateProblem,
} from "./generate.js";
import { readKnown } from "./knownNames.js";
import type { ModelConfig } from "./modelConfig.js";
import type { Network } from "./network.js";
import { GENERATE_OTHERS } from "./otherNames.js";
import type { Parts } from "./parts.js";
import { Pass, readPassOptions, readPatches, type LayerResult, type PassOptions } from "./pass.js";
import type { SentencePart } from "./sentence.js";
import type { Tokenizer } from "./tokenizer.js";
import { numbersIn, readTokens, type NumberRule, type TokenBatch, type Tokens } from "./tokens.js";

/** Options of `model.run`. `R` is the type of `returns`. */
export interface RunOptions<R extends ForwardReturns | undefined = ForwardReturns | undefined> extends PassOptions<R> {
  /** For BERT, the kind of each token, in the form of `tokens`. Default: 0. */
  readonly tokenTypes?: Tokens | undefined;
  /**
   * For each token, 1 if it may be seen and 0 if it only fills up, in the form of `tokens`; a tokenizer's
   * `attention_mask`. Texts of a batch that differ in length need none.
   */
  readonly attentionMask?: Tokens | undefined;
  /**
   * Whether scores are computed: after every token, after the last one, or not at all. A classifier of texts has one row for
   * a text. Default: true.
   */
  readonly logits?: boolean | "last" | undefined;
  /** Whether what went into each block is kept. Default: false. */
  readonly hiddenStates?: boolean | undefined;
}

/**
 * What a run gives: float32 tensors. B is the number of texts, S the number of tokens. If `tokens` is one list, the axis B is
 * absent everywhere.
 */
export interface RunResult<R extends ForwardReturns | undefined = ForwardReturns | undefined> {
  /** `[B, S, modelDim]`: the last hidden state, after the last norm. */
  readonly lastHiddenState: TypedTensor<"float32">;
  /**
   * Scores of tokens: `[B, S, vocabSize]`, or `[B, vocabSize]` of the last tokens. Of a classifier, scores of
   * `config.labels`: `[B, labels]` for texts, `[B, S, labels]` for tokens. Absent if the files have no head.
   */
  readonly logits?: TypedTensor<"float32">;
  /** `[B, modelDim]`: BERT's pooled first tokens, if the files have a pooler. */
  readonly pooled?: TypedTensor<"float32">;
  /** `[B, modelDim]`: the embedding of each text, if 1_Pooling/config.json of sentence-transformers says how it is made. */
  readonly embedding?: TypedTensor<"float32">;
  /** `[B, S, modelDim]` each: what went into the first block, the second, …, and the last hidden state. */
  readonly hiddenStates?: readonly TypedTensor<"float32">[];
  /** What `returns` asked for, by the names of layers, and each layer's `output`. */
  readonly layers: Readonly<Record<string, LayerResult<R>>>;
}

const RUN_NAMES = {
  returns: true,
  layers: true,
  headGain: true,
  patch: true,
  signal: true,
  tokenTypes: true,
  attentionMask: true,
  logits: true,
  hiddenStates: true,
} as const;

const GENERATE_NAMES = {
  returns: true,
  layers: true,
  headGain: true,
  patch: true,
  signal: true,
  temperature: true,
  topK: true,
  topP: true,
  seed: true,
  maxNewTokens: true,
  stopTokens: true,
  cacheDtype: true,
} as const;

/**
 * A model in memory. `loadModel` makes one. Its attention layers are layers of the instance, so everything that they can
 * show is open: by their names, in every run.
 */
export class Model extends Disposing {
  readonly #hw: Attention;
  readonly #network: Network;
  readonly #parts: Parts;
  readonly #sentence: SentencePart | undefined;
  readonly #tokenizer: Tokenizer | undefined;
  readonly #kept: KeptDecoder;
  #disposed = false;

  /** @internal */
  constructor(
    hw: Attention,
    network: Network,
    parts: Parts,
    sentence: SentencePart | undefined,
    tokenizer: Tokenizer | undefined,
  ) {
    super();
    this.#hw = hw;
    this.#network = network;
    this.#parts = parts;
    this.#sentence = sentence;
    this.#tokenizer = tokenizer;
    this.#kept = new KeptDecoder(hw);
  }

  /** The checked configuration. */
  get config(): ModelConfig {
    return this.#network.config;
  }

  /** The names of the attention layers, first to last, as transformers has them: `transformer.h.0.attn`, … */
  get names(): readonly string[] {
    return this.#network.attention.map(({ name }) => name);
  }

  /** The tokenizer, if `loadModel` was given one. */
  get tokenizer(): Tokenizer | undefined {
    return this.#tokenizer;
  }

  /** Bytes of all weights, as they are kept. */
  get bytes(): number {
    return this.#parts.bytes;
  }

  /**
   * Computes the model.
   *
   * @param tokens - A list of tokens for one text, or a list of lists for several.
   * @throws OptionError, ShapeError or UnsupportedError before it computes; the errors of `layer.forward`.
   * @throws DisposedError if the model or the instance was disposed.
   */
  async run<const R extends ForwardReturns | undefined = NoReturns>(
    tokens: Tokens,
    options: RunOptions<R> = {},
  ): Promise<RunResult<R>> {
    const operation = "model.run";
    this.#assertAlive(operation);
    const { known, reader } = readKnown<RunOptions>(operation, options, RUN_NAMES);
    const { logits: wanted = true } = known;
    const hiddenStates = reader.flag("hiddenStates", false);
    if (![true, false, "last"].includes(wanted))
      throw new OptionError(`${operation}: logits must be true, false or "last", got ${describe(wanted)}`);
    const batch = this.#readTokens(operation, tokens);
    const tokenTypes = this.#readTokenTypes(operation, known.tokenTypes, batch);
    const mask = readMask(operation, known.attentionMask, batch);
    if (wanted === "last" && (batch.lengths || mask))
      throw new UnsupportedError(`${operation}: logits must not be "last" for texts that are filled up`);
    const { options: changes, watched } = readPassOptions(reader, this.names, this.config.numHeads);
    const patch = readPatches(reader.call, "patch", known.patch, this.names);
    const { logits, labels, pooled } = this.#network;
    const input = { ...batch, tokenTypes, shown: mask?.data };
    const compute = async () => {
      const pass = new Pass({ ...changes, ...(patch && { patch }) }, watched, batch, mask);
      const last = await pass.hidden(this.#network, input);
      const scored = wanted === "last" ? tokenAt(last, batch.shape.at(-1)! - 1) : last;
      const scores = wanted && (labels ? labels(last, input, pass) : logits?.(scored, pass));
      return {
        lastHiddenState: typed(last),
        ...(scores && { logits: typed(await scores) }),
        ...(pooled && { pooled: typed(await pooled(last, pass)) }),
        ...(this.#sentence && { embedding: typed(this.#sentence(last, input)) }),
        ...(hiddenStates && { hiddenStates: pass.hiddenStates.map(typed) }),
        layers: pass.results as Record<string, LayerResult<R>>,
      };
    };
    try {
      return await inRoom(this.#hw, compute);
    } catch (error) {
      throw this.#disposed && DisposedError.is(error) ? modelDisposed(operation, error) : error;
    }
  }

  /**
   * Generates tokens that continue a text. Keys and values of earlier tokens are kept in caches, so each step computes one
   * token. It ends after `maxNewTokens`, with a stop token, which it gives, or when the text has `config.maxLength` tokens
   * and the model has no more positions. To end it earlier, leave the loop.
   *
   *     for await (const { token } of model.generate(prompt, { maxNewTokens: 20 })) …
   *
   * @param tokens - One text.
   * @throws OptionError, ShapeError or UnsupportedError at once, before it computes; the errors of `layer.forward`.
   */
  generate<const R extends ForwardReturns | undefined = NoReturns>(
    tokens: Tokens,
    options: GenerateOptions<R> = {},
  ): AsyncGenerator<GeneratedToken<R>, void> {
    const operation = "model.generate";
    this.#assertAlive(operation);
    const { known, reader } = readKnown<GenerateOptions>(operation, options, GENERATE_NAMES, GENERATE_OTHERS);
    const { logits, isCausal } = this.#network;
    if (!isCausal || !logits)
      throw new UnsupportedError(
        isCausal
          ? `${operation}: the files have no head that scores tokens (${wordHeadOf(this.config)}.weight)`
          : `${operation}: a model of type ${this.config.modelType} predicts hidden tokens, not the next one`,
      );
    checkNumbers(operation, known);
    const prompt = this.#readTokens(operation, tokens);
    if (prompt.shape.length > 1 && prompt.shape[0] !== 1)
      throw new ShapeError(`${operation}: tokens must be one text, got ${prompt.shape[0]}`);
    const { patch: _, ...others } = known;
    const { options: changes, watched } = readPassOptions(reader, this.names, this.config.numHeads);
    const problem: GenerateProblem = {
      prompt: { ...prompt, shape: [prompt.data.length] },
      options: { ...others, ...changes, cacheDtype: reader.oneOf("cacheDtype", CACHE_DTYPES, CACHE_DTYPES[0]) },
      watched,
      patchAt: readStepPatches(reader, this.names),
      maxNewTokens: known.maxNewTokens ?? 100,
      stopTokens: this.#readStopTokens(operation, known.stopTokens),
    };
    return generated(this.#hw, this.#network, logits, problem, this.#kept) as AsyncGenerator<GeneratedToken<R>, void>;
  }

  /** Gives the memory of the weights, of the kept step and of unfinished texts back. A second call does nothing. */
  override dispose(): void {
    this.#disposed = true;
    this.#kept.dispose();
    this.#parts.dispose();
  }

  #readTokens(operation: string, tokens: unknown): TokenBatch {
    return readTokens({ ...this.#tokenRule(operation, "tokens"), maxLength: this.#network.limit }, tokens);
  }

  #tokenRule(operation: string, argument: string): NumberRule {
    return { operation, argument, limit: this.config.vocabSize, limitName: "config.vocabSize" };
  }

  #readStopTokens(operation: string, given: unknown): readonly number[] {
    if (given === undefined) return this.config.stopTokens;
    const name = "stopTokens";
    if (!isArray(given)) throw new OptionError(`${operation}: ${name} must be an array, got ${describe(given)}`);
    return guarded(operation, name, () => numbersIn(this.#tokenRule(operation, name), name, given));
  }

  #readTokenTypes(operation: string, given: unknown, batch: TokenBatch): TokenBatch | undefined {
    if (given === undefined) return undefined;
    const { numTokenTypes: limit } = this.#network;
    if (limit === undefined)
      throw new UnsupportedError(`${operation}: tokenTypes must be absent for ${this.config.modelType}`);
    return readLike({ operation, argument: "tokenTypes", limit, limitName: "type_vocab_size" }, given, batch);
  }

  #assertAlive(operation: string): void {
    if (this.#disposed) throw modelDisposed(operation);
  }
}

/** Numbers of tokens, in the shape of the tokens: as many for each text. */
function readLike(rule: NumberRule, given: unknown, batch: TokenBatch): TokenBatch {
  const numbers = readTokens(rule, given);
  const refuse = (what: string, wanted: readonly number[], seen: readonly number[]) =>
    new ShapeError(`${rule.operation}: ${rule.argument} must have ${what}, ${describe(wanted)}, got ${describe(seen)}`);
  if (describe(numbers.shape) !== describe(batch.shape))
    throw refuse("the shape of tokens", batch.shape, numbers.shape);
  const [wanted, seen] = [lengthsOf(batch), lengthsOf(numbers)];
  if (!wanted.every((length, text) => length === seen[text])) throw refuse("the lengths of tokens", wanted, seen);
  return numbers;
}

/** The length of each text. */
const lengthsOf = ({ shape, lengths }: TokenBatch) =>
  lengths ?? Array.from<number>({ length: shape.length > 1 ? shape[0]! : 1 }).fill(shape.at(-1)!);

type BatchMask = MaskLike & { readonly data: Uint8Array };

/** The mask of attention: `[S]` or `[B, 1, 1, S]`. */
function readMask(operation: string, given: unknown, batch: TokenBatch): BatchMask | undefined {
  if (given === undefined) return undefined;
  const rule = { operation, argument: "attentionMask", limit: 2, limitName: "2" };
  const { data, shape } = readLike(rule, given, batch);
  return { data: Uint8Array.from(data), shape: [shape.length > 1 ? shape[0]! : 1, 1, 1, shape.at(-1)!] };
}

const typed = ({ data, shape }: Floats): TypedTensor<"float32"> => ({ data, shape: [...shape], dtype: "float32" });

/** Checks the numbers of a call of generate. */
function checkNumbers(operation: string, options: GenerateOptions): void {
  const { temperature, topK, topP, seed, maxNewTokens } = options;
  const isInteger = (least: number) => (value: number) => Number.isSafeInteger(value) && value >= least;
  const check = (name: string, value: unknown, rule: string, allows: (value: number) => boolean) => {
    if (value !== undefined) assertNumber(operation, name, value, rule, allows);
  };
  check("temperature", temperature, "a number of 0 or more", (value) => value >= 0 && value < Infinity);
  check("topK", topK, "an integer of 1 or more", isInteger(1));
  check("topP", topP, "a number above 0 and at most 1", (value) => value > 0 && value <= 1);
  check("seed", seed, "an integer from 0 to 2³² − 1", (value) => isInteger(0)(value) && value < 2 ** 32);
  check("maxNewTokens", maxNewTokens, "an integer of 0 or more", isInteger(0));
}

/** The name of the word head that files of this family have, if it is not the table of words. */
const wordHeadOf = ({ modelType }: ModelConfig): string => FAMILIES[modelType].heads.words!.decoder;
