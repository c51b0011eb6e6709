import { DisposedError, OptionError } from "../base/errors.js";
import type { CacheDtype } from "../cache/cacheDtype.js";
import type { Attention } from "../instance/attention.js";
import type { ForwardReturns } from "../layer/views.js";
import { throwIfAborted } from "../read/abort.js";
import type { OptionReader } from "../read/options.js";
import type { Floats } from "../tensor/plainTensor.js";
import { cachesFor, Decoder, inRoom, type KeptDecoder } from "./decoder.js";
import { tokenAt } from "./elementwise.js";
import type { Network } from "./network.js";
import type { Linear } from "./parts.js";
import { Pass, readPatches, type LayerPatches, type LayerResult, type PassOptions } from "./pass.js";
import { probabilityOf, sampler, type SamplingOptions } from "./sampling.js";
import { TokenSteps } from "./tokenSteps.js";
import type { TokenBatch } from "./tokens.js";

/** A step of `model.generate`: the tokens that go through the model together. */
export interface GenerateStep {
  /** The position of its first token in the text: 0 for the prompt. */
  readonly position: number;
  /** How many tokens it reads: the whole prompt, then one token at a time. */
  readonly length: number;
}

/** Options of `model.generate`. */
export interface GenerateOptions<R extends ForwardReturns | undefined = ForwardReturns | undefined>
  extends Omit<PassOptions<R>, "patch">, SamplingOptions {
  /**
   * For a layer, rows to overwrite, in every step. A function is called before each step, and returns the patches
   * of that step, or undefined for none. Rows count from the step's first token.
   */
  readonly patch?:
    | LayerPatches
    | ((step: GenerateStep) => LayerPatches | undefined | Promise<LayerPatches | undefined>)
    | undefined;
  /** The most tokens to generate. Default: 100. */
  readonly maxNewTokens?: number | undefined;
  /** Tokens that end the text. Default: those of the configuration. */
  readonly stopTokens?: readonly number[] | undefined;
  /** The type of the cached keys and values. Default: `"float32"`. */
  readonly cacheDtype?: CacheDtype | undefined;
}

/** A token that was generated. */
export interface GeneratedToken<R extends ForwardReturns | undefined = ForwardReturns | undefined> {
  readonly token: number;
  /** The probability that the model gives it, before temperature, `topK` and `topP`. */
  readonly probability: number;
  /** The scores of all tokens, `[vocabSize]`. */
  readonly logits: Float32Array;
  /**
   * What `returns` asked for, by the names of layers. The first step reads the whole prompt, every later step one token: so
   * the first one has a row for each token of the prompt.
   */
  readonly layers: Readonly<Record<string, LayerResult<R>>>;
}

/** A checked call of generate. */
export interface GenerateProblem {
  readonly prompt: TokenBatch;
  readonly options: Omit<GenerateOptions, "patch" | "cacheDtype"> & { readonly cacheDtype: CacheDtype };
  /** What a step overwrites; undefined: nothing. */
  readonly patchAt: ((step: GenerateStep) => Promise<LayerPatches | undefined>) | undefined;
  readonly watched: ReadonlySet<string>;
  readonly maxNewTokens: number;
  readonly stopTokens: readonly number[];
}

/** What each step overwrites: the same in every step, or what a function of the caller gives for the step. */
export function readStepPatches(reader: OptionReader, names: readonly string[]): GenerateProblem["patchAt"] {
  const given = reader.value("patch");
  if (typeof given !== "function") {
    const patches = readPatches(reader.call, "patch", given, names);
    return patches && (() => Promise.resolve(patches));
  }
  const patchOf = reader.callback("patch") as (step: GenerateStep) => unknown;
  return async (step) => readPatches(reader.call, "patch()", await patchOf(step), names);
}

/** What a text uses between its tokens. */
interface Text {
  readonly kept: KeptDecoder;
  decoder?: Decoder | undefined;
}

/** Gives back what a text uses whose iterator was dropped in the middle, without `return()`. */
const dropped =
  typeof FinalizationRegistry === "function"
    ? /* @__PURE__ */ new FinalizationRegistry<Text>(({ kept, decoder }) => decoder && kept.end(decoder))
    : undefined;

/** Generates tokens, one after another, with the keys and values of earlier ones in caches. */
export function generated(
  hw: Attention,
  network: Network,
  logits: Linear,
  problem: GenerateProblem,
  kept: KeptDecoder,
): AsyncGenerator<GeneratedToken, void> {
  const text: Text = { kept };
  const tokens = tokensOf(hw, network, logits, problem, text);
  dropped?.register(tokens, text);
  return tokens;
}

async function* tokensOf(
  hw: Attention,
  network: Network,
  logits: Linear,
  problem: GenerateProblem,
  text: Text,
): AsyncGenerator<GeneratedToken, void> {
  const { prompt, options, watched, patchAt, maxNewTokens, stopTokens } = problem;
  const { signal, cacheDtype: dtype } = options;
  const { kept } = text;
  const choose = sampler(options);
  const isPlain = isRecordable(hw, network, problem);
  const isShared = isPlain && options.headGain === undefined;
  let isWhole = true;
  let decoder: Decoder | undefined;
  try {
    decoder = isShared ? kept.take(dtype) : undefined;
    decoder = kept.use(decoder ?? (await decoderFor(hw, network, logits, problem, isPlain)));
    text.decoder = decoder;
    const { caches, steps } = decoder;
    let tokens = prompt;
    let length = prompt.data.length;
    for (let n = 0; n < maxNewTokens && length <= (network.limit ?? Infinity); n++, length++) {
      throwIfAborted(signal);
      const step = { position: length - tokens.data.length, length: tokens.data.length };
      const patch = await patchAt?.(step);
      const pass = new Pass({ ...options, ...(patch && { patch }) }, watched, tokens, undefined, caches);
      const scored = async (last: Floats) => (await logits(last, pass)).data;
      const called = async (given: TokenBatch) =>
        scored(tokenAt(await pass.hidden(network, given), given.data.length - 1));
      const read = async () => {
        const { count = 0, last } = (await steps?.readBlocks(prompt, signal)) ?? {};
        const rest = { data: prompt.data.subarray(count), shape: [prompt.data.length - count], lengths: undefined };
        return last && rest.data.length === 0 ? scored(last) : called(count === 0 ? prompt : rest);
      };
      const scores =
        n > 0
          ? ((await steps?.scores(tokens, step.position, signal)) ?? (await called(tokens)))
          : await inRoom(hw, read, decoder);
      const token = choose(scores);
      const probability = probabilityOf(scores, token);
      if (Number.isNaN(probability)) throw spoiled(step.position + step.length);
      yield { token, probability, logits: scores, layers: pass.results };
      if (stopTokens.includes(token)) return;
      tokens = { data: Int32Array.of(token), shape: [1], lengths: undefined };
    }
  } catch (error) {
    isWhole = false;
    throw kept.isClosed && DisposedError.is(error) ? modelDisposed("model.generate", error) : error;
  } finally {
    text.decoder = undefined;
    if (decoder && isWhole && isShared) await kept.keep(decoder);
    else if (decoder) kept.end(decoder);
  }
}

async function decoderFor(
  hw: Attention,
  network: Network,
  logits: Linear,
  { options }: GenerateProblem,
  isPlain: boolean,
) {
  const { cacheDtype: dtype } = options;
  const caches = await cachesFor(network, dtype);
  return new Decoder(dtype, caches, isPlain ? new TokenSteps(hw, network, logits, { caches, ...options }) : undefined);
}

/** Whether the tokens after the prompt go through one recorded step: nothing inside it is shown or overwritten. */
function isRecordable(hw: Attention, network: Network, { options, patchAt }: GenerateProblem): boolean {
  const isPlain = options.returns === undefined && patchAt === undefined && !network.hasDistances;
  return isPlain && network.attention.every(({ layer }) => layer.placement === hw.stepPlace);
}

/** @param cause - What a part of the model said, if it was disposed during the call. */
export function modelDisposed(operation: string, cause?: unknown): DisposedError {
  return new DisposedError(`${operation}: the model was disposed`, { cause });
}

function spoiled(position: number): OptionError {
  return new OptionError(`model.generate: the scores of the token at position ${position} have NaN or infinity`, {
    code: "CORRUPT_DATA",
    hint: "A weight may be NaN, or infinite in the precision that was asked for: float16 ends at 65,504.",
  });
}
