import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import type { Patches } from "../attention/patch.js";
import type { Ragged } from "../attention/ragged.js";
import type { Wanted } from "../attention/returns.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { OwnPositions } from "../cache/ownPositions.js";
import type { TokenPositions } from "../position/tokenPositions.js";
import type { OutputForm } from "../read/outputForm.js";
import type { Watched } from "../read/watched.js";
import type { PlacedFloats } from "../tensor/tensor.js";
import type { LayerViews } from "./views.js";

/** A call of forward that has passed every check. */
export interface ForwardProblem extends Watched {
  readonly operation: string;
  readonly layout: "BSE" | "BES";
  /** The shape of the attention inside the layer. */
  readonly shape: AttentionShape;
  readonly x: PlacedFloats;
  readonly key: PlacedFloats | undefined;
  readonly value: PlacedFloats | undefined;
  readonly contextLength: number;
  readonly cache: EngineCache | undefined;
  readonly attendOnly: boolean;
  readonly appendLengths: Int32Array | undefined;
  readonly positions: TokenPositions | undefined;
  /** `[planes, B, contextLength]`. */
  readonly keyPositions: TokenPositions | undefined;
  /** Where the tokens of the cache stand after the call, if any was given a position. */
  readonly own: OwnPositions | undefined;
  readonly settings: AttentionSettings;
  readonly ragged: Ragged | undefined;
  readonly wanted: Wanted;
  readonly views: LayerViews;
  readonly patches: Patches | undefined;
  readonly output: OutputForm;
  /** Whether the engine keeps what the gradient needs. */
  readonly save: boolean;
  /** Where the results are. */
  readonly location: "cpu" | "gpu";
  readonly keepRank: (shape: readonly number[]) => number[];
}
