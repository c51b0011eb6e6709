import { flatten, mapTree, random, type Floats, type Tree } from "headwise/train";

import { Learner, mostProbable, type StepResult } from "./learner.js";
import { initialParameters, Model, type Engine, type Parameters, type PositionKind } from "./model.js";
import { repeatBatch } from "./repeat.js";

/** What the visitor of the Train room chooses. */
export interface TrainSettings {
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly position: PositionKind;
  /** The standard deviation of the first weights. */
  readonly initialisation: number;
  readonly seed: number;
  readonly vocabulary: number;
  /** The longest sequence. */
  readonly tokens: number;
  /** Sequences in a step. */
  readonly batch: number;
  readonly learningRate: number;
}

/** Settings with which two layers learn to copy. */
export const USUAL_SETTINGS: TrainSettings = {
  layers: 2,
  heads: 4,
  width: 64,
  position: "rotary",
  initialisation: 0.1,
  seed: 1,
  vocabulary: 64,
  tokens: 64,
  batch: 32,
  learningRate: 0.003,
};

/** The learning rate grows from 0 over these steps. */
const WARM_UP = 50;

/** What a look tells, layer by layer. */
export interface Look {
  /** `[1, heads, tokens, tokens]` */
  readonly probs: readonly Floats[];
  /** What each attention layer gets: `[1, tokens, width]`. */
  readonly inputs: readonly Floats[];
  /** The most probable next token after each token. */
  readonly predictions: Int32Array;
}

/** All that a training goes on from. */
export interface SavedTrainer {
  readonly parameters: Parameters;
  /** The state of the optimizer. */
  readonly optimizer: Tree;
  /** The state of the source of sequences. */
  readonly source: Uint32Array;
}

/** A model that learns to copy. */
export interface Trainer {
  readonly settings: TrainSettings;
  /** How many steps it has made. */
  readonly steps: number;
  /** The weights as they are now. `flatten` names them: `layers.0.attention.Wq`. */
  readonly parameters: Parameters;
  /** A copy of all that a training goes on from. */
  readonly saved: SavedTrainer;
  /** Learns from a batch of fresh sequences. */
  step(): Promise<StepResult>;
  /** Shows what the model does with a sequence. It learns nothing from it. */
  look(tokens: Int32Array): Promise<Look>;
  /** Multiplies the output of a head from the next call on; 0 switches it off. */
  setHeadGain(layer: number, head: number, gain: number): void;
  /** Copies weights of the same names and shapes. */
  load(parameters: Tree): Promise<void>;
  dispose(): void;
}

/**
 * Makes a model and its optimizer. The same settings give the same weights after each step on the same engine. With
 * `saved` of the same settings it goes on as if it had never ended.
 */
export async function createTrainer(hw: Engine, settings: TrainSettings, saved?: SavedTrainer): Promise<Trainer> {
  const { vocabulary, width, layers, heads, position, tokens, batch, seed, initialisation } = settings;
  const architecture = { vocabulary, width, layers, heads, position, length: tokens, feedForward: 0 };
  const first = random(seed);
  const initial = initialParameters(architecture, first, initialisation);
  const source = saved ? random(saved.source) : first;
  const model = await Model.create(hw, architecture, saved ? copied(saved.parameters) : initial);
  const learner = new Learner(model, { weightDecay: 0, ...(saved && { state: saved.optimizer }) });
  return {
    settings,
    get steps() {
      return learner.steps;
    },
    parameters: model.parameters,
    get saved() {
      return { parameters: copied(model.parameters), optimizer: copied(learner.state), source: source.state };
    },
    step: () => {
      const rate = settings.learningRate * Math.min(1, (learner.steps + 1) / WARM_UP);
      return learner.learn(repeatBatch(source, batch, { tokens, vocabulary }), rate);
    },
    look: async (sequence) => {
      const { logits, ...inside } = await model.look({ data: sequence, shape: [1, sequence.length] });
      return { ...inside, predictions: mostProbable(logits) };
    },
    setHeadGain: (layer, head, gain) => {
      model.headGains[layer]![head] = gain;
    },
    load: async (parameters) => {
      const given = flatten(parameters);
      for (const [name, { data }] of Object.entries(flatten(model.parameters))) data.set(given[name]!.data);
      await model.update();
    },
    dispose: () => model.dispose(),
  };
}

function copied<T extends Tree>(tree: T): T {
  return mapTree(tree, ({ data, shape }) => ({ data: data.slice(), shape }));
}
