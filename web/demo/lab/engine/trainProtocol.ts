import type { ModelFiles } from "../../train/gpt2Files.js";
import type { Parameters } from "../../train/model.js";
import type { SavedTrainer, TrainSettings } from "../../train/trainer.js";
import type { Checkpoint } from "./checkpoints.js";
import type { Difference } from "./difference.js";
import type { EngineChoice, Failure } from "./protocol.js";

/** What to train. */
export interface TrainOrder {
  readonly settings: Omit<TrainSettings, "layers">;
  /** Whether a model of one layer is trained too, on the same sequences. */
  readonly control: boolean;
  readonly engine: EngineChoice;
  readonly gains: Gains;
  /** A training of the same settings, to go on from. */
  readonly kept?: KeptPair | undefined;
}

/** Both models as they are, and some of their earlier parameters. */
export interface KeptPair {
  readonly two: SavedTrainer;
  readonly one: SavedTrainer | undefined;
  readonly checkpoints: readonly Checkpoint<PairParameters>[];
}

export interface PairParameters {
  readonly two: Parameters;
  readonly one: Parameters | undefined;
}

/** One factor for each head of each layer of the two. */
export type Gains = readonly (readonly number[])[];

/** What the models do at one step, on sequences that they never learn from. */
export interface Picture {
  readonly step: number;
  /** The sequence of the maps. */
  readonly tokens: Int32Array;
  readonly half: number;
  /** Heads of a layer. */
  readonly heads: number;
  /** Weights [heads, tokens, tokens] of the control's only layer, if there is one; then of both layers of the two. */
  readonly control: Float32Array | undefined;
  readonly layers: readonly Float32Array[];
  /** What the two layers expect to follow each token. */
  readonly predictions: Int32Array;
  /** Shares of repeated tokens that are copied. */
  readonly copied: number;
  readonly controlCopied: number | undefined;
}

/** The loss of a step, on the step's sequences. */
export interface Learned {
  readonly loss: number;
}
/** One step of both models. */
export interface PairStep {
  readonly two: Learned;
  readonly one: Learned | undefined;
}

export type TrainRequest =
  | { readonly kind: "begin"; readonly order: TrainOrder }
  /** Go on until "pause", or for some steps. */
  | { readonly kind: "run"; readonly steps: number }
  | { readonly kind: "pause" }
  | { readonly kind: "gains"; readonly gains: Gains }
  /** Asks for the picture of a checkpoint; undefined: of the latest step. */
  | { readonly kind: "show"; readonly step: number | undefined }
  /** Asks for a file: the weights of the two layers, or the queries, keys and values of one layer. */
  | { readonly kind: "file"; readonly layer: number | undefined }
  /** Asks for the two layers as the files of a GPT-2. */
  | { readonly kind: "model" }
  /** Asks for what a training goes on from. */
  | { readonly kind: "keep" }
  /** Asks for a comparison with double precision. */
  | { readonly kind: "check" };

export type TrainReply =
  | { readonly kind: "ready"; readonly threads: number; readonly parameters: number }
  | { readonly kind: "steps"; readonly steps: readonly PairStep[]; readonly milliseconds: number }
  /**
   * `isNew`: the latest step, seen for the first time. Otherwise it is what was asked for, or the checkpoint before that if
   * it is no longer kept.
   */
  | {
      readonly kind: "picture";
      readonly picture: Picture;
      readonly isNew: boolean;
      readonly asked: number | undefined;
      readonly checkpoints: readonly number[];
    }
  | { readonly kind: "paused" }
  | { readonly kind: "file"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "model"; readonly files: ModelFiles }
  | { readonly kind: "kept"; readonly kept: KeptPair }
  | { readonly kind: "checked"; readonly differences: readonly Difference[] }
  | { readonly kind: "failed"; readonly reason: Failure };
