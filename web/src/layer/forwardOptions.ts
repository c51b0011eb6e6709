import type { AttentionSettingsOptions } from "../attention/attentionOptions.js";
import { SETTINGS } from "../attention/attentionSettings.js";
import type { KvCache } from "../cache/kvCache.js";
import type { GivenPositions } from "../position/tokenPositions.js";
import { ENCODER } from "../read/encoder.js";
import type { NumberList } from "../read/options.js";
import { flag, integers, LOCATION, ofCall, WATCH } from "../read/settingKinds.js";
import { namesIn, type TableOf } from "../read/settingTable.js";
import type { WatchOptions } from "../read/watched.js";
import type { GpuFloats } from "../tensor/gpuTensor.js";
import type { FloatTensor, FloatTensorLike } from "../tensor/tensor.js";
import type { Patch } from "./patch.js";
import type { ForwardReturns } from "./views.js";

/**
 * Options of `layer.forward`. Positions are the positions of attention: query i is at position i + offset; key j is at
 * its row number or, in a cache, at its place there. queryOffset moves masks, rotary embedding and added positions
 * together.
 */
export interface ForwardOptions extends AttentionSettingsOptions, WatchOptions {
  /** The input of the key projection, `[B, Skv, keyInputDim]`. Default x. */
  readonly key?: FloatTensorLike | GpuFloats | undefined;
  /** The input of the value projection, `[B, Skv, valueInputDim]`. Default the input of the key projection. */
  readonly value?: FloatTensorLike | GpuFloats | undefined;
  /**
   * A cache. The projected keys and values are appended to it; then the queries attend to all keys in it. A ring drops
   * tokens only afterwards, as in `KvCache.step`. If the call fails, the cache is as before, unless it is a ring that has
   * dropped a token for a single new one.
   */
  readonly cache?: KvCache | undefined;
  /**
   * With a cache: attend to its keys and append nothing, as cross-attention does after its first step. Default false.
   */
  readonly attendOnly?: boolean | undefined;
  /**
   * `[B]`: how many leading tokens of each batch to append. Default: queryLengths if keys come from x, otherwise all.
   * If keys come from x, the call uses positions and queryOffset is absent, the default of queryLengths is
   * appendLengths.
   */
  readonly appendLengths?: NumberList | undefined;
  /**
   * Where the tokens of x stand, for the layer's positions, those of a rotary cache, and `alibiSlopes`: whole numbers, a
   * list `[S]`, or a tensor `[S]` or `[B, S]`; with sections also `[3, B, S]`. Default: their indices. Queries stand there,
   * and keys that come from x. Masks, windows and causal go on by index, as with `position_ids` in transformers.
   */
  readonly positions?: GivenPositions | undefined;
  /**
   * Where the tokens of `key` stand, if the layer or the cache turns keys, or with `alibiSlopes`: `[S]` or `[B, S]` for
   * the length of `key`; with sections as many planes as `positions`. It needs `positions`.
   */
  readonly keyPositions?: GivenPositions | undefined;
  /** Ragged batch: where each sequence begins in x, and where the last one ends. Needs cuSeqLensKey. */
  readonly cuSeqLensQuery?: NumberList | undefined;
  /** The same for the key context, or for x if there is none. */
  readonly cuSeqLensKey?: NumberList | undefined;
  /**
   * Whether to keep what `layer.backward` needs, as `result.saved`. Not with a cache. Default false.
   */
  readonly save?: boolean | undefined;
  /** What to return. Default: only `output`. */
  readonly returns?: ForwardReturns | undefined;
  /** Overwrites queries, keys, values, weights or results of heads, for this call. Not with save. */
  readonly patch?: Patch | undefined;
  /** Where the results are. `"gpu"` needs a layer on WebGPU. Default `"cpu"`. */
  readonly location?: "cpu" | "gpu" | undefined;
  /** A tensor of the output's shape, to write the output to. It is then also `result.output`. */
  readonly into?: FloatTensor | undefined;
}

/** What the readers of these options need. */
type Lengths = Readonly<Record<"batchSize" | "contextLength", number>>;

/** A row for each option that is no setting of attention. */
export const FORWARD = {
  key: ofCall(),
  value: ofCall(),
  cache: ofCall(),
  attendOnly: flag(),
  appendLengths: integers({ length: "batchSize", most: "contextLength" }),
  positions: ofCall(),
  keyPositions: ofCall(),
  cuSeqLensQuery: ofCall(),
  cuSeqLensKey: ofCall(),
  save: flag(),
  returns: ofCall(),
  patch: ofCall(),
  location: LOCATION,
  into: ofCall(),
  ...WATCH,
} satisfies TableOf<Omit<ForwardOptions, keyof AttentionSettingsOptions>, Lengths>;

/** The names of all options. */
export const FORWARD_NAMES = [...namesIn({ ...SETTINGS, ...FORWARD }), ENCODER];
