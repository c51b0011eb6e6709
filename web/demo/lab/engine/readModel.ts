import type { Attention } from "headwise";
import { detect, type DetectedHead } from "headwise/inspect";
import { loadModel, type LoadModelOptions, type Model, type OpenedFiles, type RunResult } from "headwise/models";
import { random } from "headwise/train";

import { weightsDifference, type Difference } from "./difference.js";
import { exactAttention } from "./exact.js";
import type { Floats } from "./floats.js";
import { interventionsOf } from "./headChanges.js";
import type { Effect, Habit, HeadChange, HeadPlace, ModelFacts, ModelOrder, Seen, WordStudy } from "./modelProtocol.js";
import { largestOf, logOdds, movedShare, probabilitiesOf, rowCosines } from "./predictions.js";
import { TroubleError } from "./trouble.js";

/** The maps of more tokens could not be read as small pictures. */
export const MOST_TOKENS = 64;
/** Random tokens, each once, before they are repeated. */
const REPEATED = 12;
const CANDIDATES = 10;
/** Below every score that matters. The threshold of the order is applied to the larger one of two scores. */
const ANY_SCORE = 1e-9;

const SIGNS: Readonly<Record<string, string>> = { " ": "␣", "\n": "⏎", "\t": "⇥" };

/** Types of models that predict hidden tokens. */
const ENCODER = /bert|mpnet/;

type Run = RunResult<{ probs: true }>;

/** Files of a model by name: in the page, or on the hub. */
export type NamedFiles = Readonly<Record<string, Blob | Uint8Array>> | OpenedFiles;

/** A model of the visitor: what it does with tokens, with changes and without. */
export class ReadModel {
  readonly #model: Model;
  readonly #threads: number;
  /** The latest run without changes. */
  #plain: { readonly key: string; readonly run: Run } | undefined;

  private constructor(model: Model, threads: number) {
    this.#model = model;
    this.#threads = threads;
  }

  /** Loads a model. Text can be read if tokenizer.json is one of the files. */
  static async open(
    hw: Attention,
    files: NamedFiles,
    options: Pick<LoadModelOptions, "onProgress" | "precision"> = {},
  ): Promise<ReadModel> {
    const hasTokenizer = Object.keys(files).some((name) => /(^|\/)tokenizer\.json$/.test(name));
    const tokenizer = hasTokenizer && { tokenizer: (await import("@huggingface/tokenizers")).Tokenizer };
    return new ReadModel(await loadModel(hw, files, { ...options, ...tokenizer }), hw.report.threads);
  }

  get facts(): ModelFacts {
    const { config, tokenizer, bytes } = this.#model;
    return {
      type: config.modelType,
      layers: config.numLayers,
      heads: config.numHeads,
      width: config.modelDim,
      vocabulary: config.vocabSize,
      longest: Math.min(MOST_TOKENS, config.maxLength),
      hasTokenizer: tokenizer !== undefined,
      isCausal: !ENCODER.test(config.modelType),
      bytes,
      threads: this.#threads,
    };
  }

  /** Runs the model with the changes, and compares with a run without them. */
  async see(order: ModelOrder): Promise<Seen> {
    const { tokens, left } = this.#tokensOf(order);
    const labels = tokens.map((token) => this.#label(token));
    const at = this.#placeOf(order.at, labels);
    const plain = await this.#plainRun(tokens, at);
    const changed = order.changes.length === 0 ? plain : await this.#run(tokens, at, order.changes);
    const probs = this.#probsOf(changed);
    const habits = habitsOf(this.#habits(plain, tokens), this.#habits(changed, tokens), order.threshold);
    return { tokens, labels, left, at, probs, habits, effect: this.#effect(plain, changed, at, order.word) };
  }

  /** Switches each head off, one after the other, and yields after each what is known of the word. */
  async *study(order: ModelOrder): AsyncGenerator<WordStudy, void> {
    const [{ tokens }, word] = [this.#tokensOf(order), order.word!];
    const at = this.#placeOf(
      order.at,
      tokens.map((token) => this.#label(token)),
    );
    const oddsOf = ({ logits }: Pick<Run, "logits">) => logOdds(scoresAt(logits!, at), word);
    const { layers, heads } = this.facts;
    const all = oddsOf(await this.#plainRun(tokens, at));
    const sizes = { names: this.#model.names, heads, tokens: tokens.length };
    const without: number[] = [];
    for (let layer = 1; layer <= layers; layer++)
      for (let head = 0; head < heads; head++) {
        const off = interventionsOf([{ layer, head, kind: "off" }], sizes);
        without.push(oddsOf(await this.#model.run(tokens, { logits: this.#scored(tokens, at), ...off })));
        yield { word, layers, heads, all, without: [...without] };
      }
  }

  /** Compares the weights of a head, without changes, with their definition in double precision. */
  async check(order: ModelOrder, { layer, head }: HeadPlace): Promise<readonly Difference[]> {
    const { tokens } = this.#tokensOf(order);
    const name = this.#model.names[layer - 1]!;
    const { layers } = await this.#model.run(tokens, {
      layers: [name],
      returns: { query: true, key: true, value: true, probs: true, scores: "raw" },
      logits: false,
    });
    const { query, key, value, probs, scores } = layers[name]!;
    const [S, group] = [tokens.length, this.facts.heads / key.shape.at(-3)!];
    const one = ({ data, shape }: { data: Float32Array; shape: readonly number[] }, at: number) => {
      const size = S * shape.at(-1)!;
      return { data: data.subarray(at * size, (at + 1) * size), shape: [1, 1, S, shape.at(-1)!] };
    };
    const own = one(probs, head);
    const seen = {
      data: Uint8Array.from(own.data, (weight) => Number(weight > 0)),
      shape: own.shape,
      dtype: "bool",
    } as const;
    const [q, k, v] = [one(query, head), one(key, Math.floor(head / group)), one(value, Math.floor(head / group))];
    const exact = exactAttention(q, k, v, { mask: seen, scale: scaleOf(q, k, one(scores, head).data) });
    return [weightsDifference({ layer, head }, own.data, exact.probs)];
  }

  dispose(): void {
    this.#model.dispose();
  }

  #tokensOf({ input }: ModelOrder): { tokens: number[]; left: number } {
    const { longest, vocabulary } = this.facts;
    const all =
      "text" in input
        ? this.#model.tokenizer!.encode(input.text)
        : input.numbers.length > 0
          ? [...input.numbers]
          : repeatedTokens(vocabulary, longest);
    if (all.length === 0) throw new TroubleError({ kind: "noTokens" });
    return { tokens: all.slice(0, longest), left: Math.max(0, all.length - longest) };
  }

  #label(token: number): string {
    const text = this.#model.tokenizer?.decode([token]);
    return text ? text.replace(/[ \n\t]/g, (sign) => SIGNS[sign]!) : String(token);
  }

  /** The token of the prediction: the wanted one, else the last one, else BERT's first hidden one. */
  #placeOf(wanted: number | undefined, labels: readonly string[]): number {
    const last = labels.length - 1;
    if (wanted !== undefined && wanted <= last) return wanted;
    if (this.facts.isCausal) return last;
    const hidden = labels.findIndex((label) => /^(\[MASK\]|<mask>)$/.test(label));
    return hidden < 0 ? Math.floor(last / 2) : hidden;
  }

  async #plainRun(tokens: readonly number[], at: number): Promise<Run> {
    const key = `${tokens.join()} ${this.#scored(tokens, at)}`;
    if (this.#plain?.key !== key) this.#plain = { key, run: await this.#run(tokens, at, []) };
    return this.#plain.run;
  }

  #run(tokens: readonly number[], at: number, changes: readonly HeadChange[]): Promise<Run> {
    const sizes = { names: this.#model.names, heads: this.facts.heads, tokens: tokens.length };
    const returns = { probs: true } as const;
    return this.#model.run(tokens, { returns, logits: this.#scored(tokens, at), ...interventionsOf(changes, sizes) });
  }

  /** The scores of the last token alone take less time. */
  #scored(tokens: readonly number[], at: number): true | "last" {
    return at === tokens.length - 1 ? "last" : true;
  }

  #probsOf({ layers }: Run): readonly Float32Array[] {
    return this.#model.names.map((name) => layers[name]!.probs.data);
  }

  #habits(run: Run, tokens: readonly number[]): readonly DetectedHead[] {
    const shape = [this.facts.heads, tokens.length, tokens.length];
    const maps = this.#probsOf(run).map((data) => ({ data, shape }));
    return detect(maps, { data: Int32Array.from(tokens), shape: [tokens.length] }, { threshold: ANY_SCORE });
  }

  #effect(plain: Run, changed: Run, at: number, word: number | undefined): Effect {
    const isClassifier = this.#model.config.labels.length > 0;
    if (!plain.logits || !changed.logits || isClassifier) {
      const [before, now] = [plain.lastHiddenState.data, changed.lastHiddenState.data];
      return { kind: "states", cosines: rowCosines(before, now, this.facts.width) };
    }
    const before = probabilitiesOf(scoresAt(plain.logits, at));
    const now = probabilitiesOf(scoresAt(changed.logits, at));
    const likely = largestOf(before, now, CANDIDATES);
    const shown = word === undefined || likely.includes(word) ? likely : [...likely, word];
    const candidates = shown.map((token) => {
      return { token, label: this.#label(token), before: before[token]!, now: now[token]! };
    });
    return { kind: "prediction", candidates, moved: movedShare(before, now) };
  }
}

/** The scores after a token: a row of the matrix, or, of the last token alone, all of them. */
function scoresAt({ data, shape }: NonNullable<Run["logits"]>, at: number): Float32Array {
  const [row, size] = [shape.length === 1 ? 0 : at, shape.at(-1)!];
  return data.subarray(row * size, (row + 1) * size);
}

/** Random tokens, each once, and then the same again: what shows induction heads. */
export function repeatedTokens(vocabulary: number, longest: number): number[] {
  const half = Math.max(1, Math.min(REPEATED, Math.floor(longest / 2), vocabulary));
  const once = Array.from(random(1).permutation(vocabulary).subarray(0, half));
  return [...once, ...once].slice(0, longest);
}

/**
 * The habits whose score reaches the threshold, with changes or without; the strongest first. In a text that repeats
 * itself a head with a habit always looks back by the same distance, so a fixed offset is told only of other heads.
 */
function habitsOf(before: readonly DetectedHead[], now: readonly DetectedHead[], threshold: number): Habit[] {
  const name = ({ layer, head, kind }: DetectedHead) => `${layer} ${head} ${kind}`;
  const found = new Map<string, Habit>();
  const add = (which: "before" | "now") => (habit: DetectedHead) => {
    const { layer, head, kind, offset, score } = habit;
    const known = found.get(name(habit)) ?? { layer: layer + 1, head, kind, before: 0, now: 0 };
    found.set(name(habit), { ...known, [which]: score, ...(offset !== undefined && { offset }) });
  };
  before.forEach(add("before"));
  now.forEach(add("now"));
  const strength = (habit: Habit) => Math.max(habit.before, habit.now);
  const strong = [...found.values()].filter((habit) => strength(habit) >= threshold);
  const place = ({ layer, head }: HeadPlace) => `${layer} ${head}`;
  const named = new Set(strong.filter(({ kind }) => kind !== "positional").map(place));
  return strong
    .filter((habit) => habit.kind !== "positional" || !named.has(place(habit)))
    .sort((a, b) => strength(b) - strength(a));
}

/** The factor between dot products of queries and keys and the scores that the model makes of them. */
function scaleOf(query: Floats, key: Floats, scores: Float32Array): number {
  const [, , tokens, width] = query.shape as [number, number, number, number];
  let [above, below] = [0, 0];
  for (let i = 0; i < tokens; i++)
    for (let j = 0; j <= i; j++) {
      let dot = 0;
      for (let d = 0; d < width; d++) dot += query.data[i * width + d]! * key.data[j * width + d]!;
      const score = scores[i * tokens + j]!;
      if (!Number.isFinite(score)) continue; // hidden
      above += score * dot;
      below += dot * dot;
    }
  return above / below;
}
