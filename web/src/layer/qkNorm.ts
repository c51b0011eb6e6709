import { isList, namesOf, type NumberList, type OptionReader } from "../call/options.js";
import { isObject } from "../foreign/describe.js";

/** A norm of every head's queries and keys. It is applied before rotary embedding. */
export interface QkNorm {
  /** `"rms"`: x / √(mean(x²) + epsilon) · gain. `"l2"`: x / max(‖x‖, epsilon) · gain. */
  readonly kind: "rms" | "l2";
  /** Default 1e-6 for `"rms"`, 1e-12 for `"l2"`. */
  readonly epsilon?: number | undefined;
  /** `[headDim]`: one list for queries and keys, or one list for each. Default 1. */
  readonly gain?:
    NumberList | { readonly query?: NumberList | undefined; readonly key?: NumberList | undefined } | undefined;
}

/** The norm, checked, with defaults filled in. */
export interface CheckedQkNorm {
  readonly kind: "rms" | "l2";
  readonly epsilon: number;
  readonly queryGain: Float32Array | undefined;
  readonly keyGain: Float32Array | undefined;
  /** Whether the gain was given for queries and keys together. */
  readonly isShared: boolean;
}

/** Reads the norm of a layer; undefined if the layer has none. */
export function readQkNorm(options: OptionReader, headDim: number): CheckedQkNorm | undefined {
  const norm = options.object("qkNorm", namesOf<QkNorm>({ kind: true, epsilon: true, gain: true }));
  if (!norm) return undefined;
  if (!norm.has("kind")) throw norm.refuse("kind", 'be given: "rms" or "l2"');
  const kind = norm.oneOf("kind", ["rms", "l2"], "rms");
  const epsilon = norm.number("epsilon") ?? (kind === "rms" ? 1e-6 : 1e-12);
  if (epsilon < 0) throw norm.refuse("epsilon", "be at least 0");
  const each = norm.call.guarded(norm.name("gain"), () => isGainOfEach(norm.value("gain")))
    ? norm.object("gain", ["query", "key"])
    : undefined;
  const gain = each ? undefined : norm.floats("gain", headDim);
  return {
    kind,
    epsilon,
    queryGain: each ? each.floats("query", headDim) : gain,
    keyGain: each ? each.floats("key", headDim) : gain,
    isShared: !each,
  };
}

/** false for a list or a tensor of rank 1, which is the gain of queries and keys. */
function isGainOfEach(gain: unknown): boolean {
  return isObject(gain) && !isList(gain) && !("data" in gain);
}
