import type { Attention } from "headwise";
import { flatten, mapTree, saveSafetensors } from "headwise/train";

import { gpt2Files, type ModelFiles } from "../../train/gpt2Files.js";
import type { Parameters } from "../../train/model.js";
import {
  copiedShare,
  REPEAT_CHARACTERS,
  repeatSequence,
  type RepeatSequence,
  type RepeatTask,
} from "../../train/repeat.js";
import { createTrainer, type Look, type SavedTrainer, type Trainer } from "../../train/trainer.js";
import { weightsDifference, type Difference } from "./difference.js";
import { exactAttention } from "./exact.js";
import type { Floats } from "./floats.js";
import { projected } from "./projected.js";
import { Checkpoints } from "./checkpoints.js";
import type { Gains, KeptPair, PairParameters, PairStep, Picture, TrainOrder } from "./trainProtocol.js";

/** The sequences that nothing learns from have seeds from this one on. */
const HELD_OUT = 900_000;
const SEQUENCES = 4;
/** A look at the models after so many steps. */
export const LOOK_EVERY = 5;
/** The memory for parameters of earlier steps. */
const KEPT_BYTES = 2 ** 26;
/** The part of it that outlives the room. */
const LASTING_BYTES = 2 ** 23;

type Order = Omit<TrainOrder, "engine">;

/** The two layers and their control: models that learn from the same settings, step by step. */
export class TrainedPair {
  readonly #two: Model;
  readonly #one: Model | undefined;
  readonly #sequences: readonly RepeatSequence[];
  readonly #kept: Checkpoints<PairParameters>;

  private constructor(two: Model, one: Model | undefined, { settings }: Order) {
    this.#two = two;
    this.#one = one;
    this.#sequences = longest(settings);
    this.#kept = new Checkpoints(Math.floor(KEPT_BYTES / this.#bytes));
  }

  static async create(hw: Attention, order: Order): Promise<TrainedPair> {
    const { kept, control, gains } = order;
    const two = await Model.create(hw, order, 2, kept?.two);
    const one = control ? await Model.create(hw, order, 1, kept?.one) : undefined;
    const pair = new TrainedPair(two, one, order);
    pair.gains = gains;
    for (const { step, what } of kept?.checkpoints ?? []) pair.#kept.add(step, () => what);
    if (!kept) pair.#keep();
    return pair;
  }

  /** What a training goes on from, in another worker. */
  get kept(): KeptPair {
    const checkpoints = this.#kept.some(Math.max(2, Math.floor(LASTING_BYTES / this.#bytes)));
    return { two: this.#two.learner.saved, one: this.#one?.learner.saved, checkpoints };
  }

  /** The bytes of the parameters of both models. */
  get #bytes(): number {
    return 4 * (this.#two.size + (this.#one?.size ?? 0));
  }

  get step(): number {
    return this.#two.learner.steps;
  }

  /** The number of parameters of the two layers. */
  get size(): number {
    return this.#two.size;
  }

  get checkpoints(): readonly number[] {
    return [...new Set([...this.#kept.steps, this.step])];
  }

  set gains(gains: Gains) {
    this.#two.gains = gains;
  }

  /** Whether the models should be looked at after this step. */
  get isLook(): boolean {
    return this.step % LOOK_EVERY === 0;
  }

  /** One step of each model. */
  async learn(): Promise<PairStep> {
    const two = await this.#two.learner.step();
    const one = await this.#one?.learner.step();
    if (this.isLook) this.#keep();
    return { two, one };
  }

  /** What the models did at a checkpoint, or do now. */
  async look(step: number = this.step): Promise<Picture> {
    const kept = step === this.step ? undefined : this.#kept.at(step);
    const two = await this.#two.look(this.#sequences, kept?.what.two);
    const one = await this.#one?.look(this.#sequences, kept?.what.one);
    const { tokens, half } = this.#sequences[0]!;
    return {
      step: kept?.step ?? this.step,
      ...{ tokens, half, heads: this.#two.learner.settings.heads },
      control: one?.layers[0],
      layers: two.layers,
      predictions: two.predictions,
      copied: two.copied,
      controlCopied: one?.copied,
    };
  }

  /** A file of the parameters of the two layers at a checkpoint, or of what one layer computed with them. */
  async file(layer: number | undefined, step: number = this.step): Promise<Uint8Array<ArrayBuffer>> {
    const parameters = this.#parameters(step);
    if (layer === undefined) return saveSafetensors(parameters);
    const { inputs } = await this.#two.at(parameters).then((model) => model.look(this.#sequences[0]!.tokens));
    const { query, key, value } = projected(
      inputs[layer - 1]!,
      parameters.layers[layer - 1]!.attention,
      this.#two.learner.settings,
    );
    const name = (letter: string) => `layer${layer}.${letter}`;
    return saveSafetensors({ [name("q")]: query, [name("k")]: key, [name("v")]: value });
  }

  /** The two layers at a checkpoint as the files of a GPT-2, which has no rotary positions. */
  modelFiles(step: number = this.step): ModelFiles {
    const { heads, tokens: length } = this.#two.learner.settings;
    return gpt2Files(this.#parameters(step), { heads, length, characters: REPEAT_CHARACTERS });
  }

  /** Compares the maps of both layers at a checkpoint with their definition. */
  async check(step: number = this.step): Promise<readonly Difference[]> {
    const parameters = this.#parameters(step);
    const model = await this.#two.at(parameters);
    const { inputs, probs } = await model.look(this.#sequences[0]!.tokens);
    return inputs.map((input, layer) => {
      const { query, key, value } = projected(input, parameters.layers[layer]!.attention, model.settings);
      const exact = exactAttention(batched(query), batched(key), batched(value), { causal: true });
      return weightsDifference({ layer: layer + 1 }, probs[layer]!.data, exact.probs);
    });
  }

  #parameters(step: number): Parameters {
    const kept = step === this.step ? undefined : this.#kept.at(step);
    return kept?.what.two ?? this.#two.learner.parameters;
  }

  dispose(): void {
    this.#two.dispose();
    this.#one?.dispose();
  }

  #keep(): void {
    this.#kept.add(this.step, () => ({
      two: copied(this.#two.learner.parameters),
      one: this.#one && copied(this.#one.learner.parameters),
    }));
  }
}

interface SeenModel {
  readonly layers: readonly Float32Array[];
  readonly predictions: Int32Array;
  readonly copied: number;
}

/** A model that learns, and a second one that shows its earlier parameters. */
class Model {
  readonly size: number;

  private constructor(
    readonly learner: Trainer,
    private readonly shower: Trainer,
  ) {
    this.size = sizeOf(learner.parameters);
  }

  static async create(hw: Attention, { settings }: Order, layers: number, saved?: SavedTrainer): Promise<Model> {
    const create = (from?: SavedTrainer) => createTrainer(hw, { ...settings, layers }, from);
    return new Model(await create(saved), await create());
  }

  set gains(gains: Gains) {
    gains.forEach((heads, layer) =>
      heads.forEach((gain, head) => {
        this.learner.setHeadGain(layer, head, gain);
        this.shower.setHeadGain(layer, head, gain);
      }),
    );
  }

  /** The model with these parameters. */
  async at(parameters: Parameters): Promise<Trainer> {
    if (parameters === this.learner.parameters) return this.learner;
    await this.shower.load(parameters);
    return this.shower;
  }

  async look(sequences: readonly RepeatSequence[], earlier: Parameters | undefined): Promise<SeenModel> {
    const model = earlier ? await this.at(earlier) : this.learner;
    const seen: Look[] = [];
    for (const { tokens } of sequences) seen.push(await model.look(tokens));
    const [first] = seen;
    return {
      layers: first!.probs.map(({ data }) => data),
      predictions: first!.predictions,
      copied: mean(sequences.map(({ tokens, half }, at) => copiedShare(tokens, half, seen[at]!.predictions))),
    };
  }

  dispose(): void {
    this.learner.dispose();
    this.shower.dispose();
  }
}

/** Sequences as long as the task allows. The first one is shown. */
function longest(task: RepeatTask): readonly RepeatSequence[] {
  const found: RepeatSequence[] = [];
  for (let seed = HELD_OUT; found.length < SEQUENCES; seed++) {
    const sequence = repeatSequence({ ...task, seed });
    if (sequence.tokens.length === task.tokens) found.push(sequence);
  }
  return found;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function batched({ data, shape }: Floats): Floats {
  return { data, shape: [1, ...shape] };
}

function copied(parameters: Parameters): Parameters {
  return mapTree(parameters, ({ data, shape }) => ({ data: data.slice(), shape }));
}

function sizeOf(parameters: Parameters): number {
  return Object.values(flatten(parameters)).reduce((sum, { data }) => sum + data.length, 0);
}
