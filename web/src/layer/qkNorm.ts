import { isObject } from "../base/describe.js";
import { isList, type NumberList, type OptionReader } from "../read/options.js";
import { floats, LEAST, number, oneOf, own, required } from "../read/settingKinds.js";
import { namesIn, readTable, type Checked, type TableOf } from "../read/settingTable.js";
import { NORM_OTHERS } from "./otherNames.js";

/** A norm of every head's queries and keys. It is applied before rotary embedding. */
export interface QkNorm {
  /** `"rms"`: x / √(mean(x²) + epsilon) · gain. `"l2"`: x / max(‖x‖, epsilon) · gain. */
  readonly kind: "rms" | "l2";
  /** Default 1e-6 for `"rms"`, 1e-12 for `"l2"`. */
  readonly epsilon?: number | undefined;
  /** `[headDim]`: one list for queries and keys, or one list for each. Default 1. */
  readonly gain?:
    | NumberList
    | { readonly query?: NumberList | undefined; readonly key?: NumberList | undefined }
    | undefined;
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

/** What the readers of a norm need. */
export interface Width {
  readonly headDim: number;
}

/** A row for each option of the norm. */
export const QK_NORM = {
  kind: required(oneOf(["rms", "l2"])),
  epsilon: number({ min: 0 }),
  gain: own(undefined, readGain),
} satisfies TableOf<QkNorm, Width>;

const GAINS = { query: floats({ length: "headDim" }), key: floats({ length: "headDim" }) };

/** Reads the norm of a layer. */
export function readQkNorm(options: OptionReader, name: string, width: Width): CheckedQkNorm {
  const { kind, epsilon, gain } = readTable(options.object(name, namesIn(QK_NORM), NORM_OTHERS)!, QK_NORM, width);
  const stated = epsilon ?? (kind === "rms" ? 1e-6 : 1e-12);
  return {
    kind,
    epsilon: stated > 0 ? Math.max(stated, LEAST) : 0,
    queryGain: gain?.query,
    keyGain: gain?.key,
    isShared: gain?.query === gain?.key,
  };
}

/** One list for queries and keys, or one for each. */
function readGain(norm: OptionReader, name: string, width: Width): Checked<typeof GAINS> | undefined {
  if (norm.call.guarded(norm.name(name), () => isGainOfEach(norm.value(name))))
    return readTable(norm.object(name, namesIn(GAINS))!, GAINS, width);
  const gain = norm.floats(name, width.headDim);
  return { query: gain, key: gain };
}

/** false for a list or a tensor of rank 1, which is the gain of queries and keys. */
function isGainOfEach(gain: unknown): boolean {
  return isObject(gain) && !isList(gain) && !("data" in gain);
}
