import type { AttentionOptions } from "../attention/attentionProblem.js";
import { UnsupportedError } from "../base/errors.js";
import type { ForwardOptions } from "../layer/forwardOptions.js";
import type { RotaryOptions } from "../position/rotaryProblem.js";
import type { OptionReader } from "../read/options.js";
import type { StepNumbers } from "./stepTensor.js";

/** Options that differ from call to call, or ask for more than the output. */
const NEVER = [
  "key",
  "value",
  "appendLengths",
  "positions",
  "keyPositions",
  "cuSeqLensQuery",
  "cuSeqLensKey",
  "save",
  "returns",
  "patch",
  "location",
  "into",
  "signal",
  "onProgress",
  "dropout",
  "encoder",
] as const;

/** Options whose shape or meaning follows the number of keys, which a cache changes in every run. */
const WITHOUT_CACHE = ["mask", "bias", "keyLengths", "queryLengths", "queryOffset"] as const;

/** Options of a layer in a step: those of `forward` that every run has in common. */
export type RecordedLayerOptions = Omit<ForwardOptions, Exclude<(typeof NEVER)[number], "encoder">>;

/** Options of attention in a step: those that every run has in common. */
export type RecordedAttentionOptions = Omit<AttentionOptions, (typeof NEVER)[number]>;

/**
 * Options of a rotary embedding in a step. `positions` may be numbers of the step, one for each token: those of `[B, S]`, in
 * order.
 */
export type RecordedRotaryOptions = Omit<RotaryOptions, (typeof NEVER)[number]> & {
  readonly positions?: RotaryOptions["positions"] | StepNumbers;
};

/**
 * Refuses what a step cannot hold.
 *
 * @param instead - The call that takes it.
 */
export function refuseChanging(
  options: OptionReader,
  instead: string,
  ...allowed: readonly (typeof NEVER)[number][]
): void {
  for (const name of NEVER)
    if (options.has(name) && !allowed.includes(name))
      throw refused(
        options,
        name,
        "a step gives only outputs, and every run is the same",
        name === "signal" ? "step.run" : instead,
      );
  if (options.has("cache"))
    for (const name of WITHOUT_CACHE)
      if (options.has(name)) throw refused(options, name, "the cache has more keys in every run", instead);
  if (options.value("emptyRows") === "throw")
    throw new UnsupportedError(`${options.operation}: emptyRows must not be "throw" in a step`);
}

function refused({ operation }: OptionReader, name: string, why: string, instead: string): UnsupportedError {
  return new UnsupportedError(`${operation}: ${name} must be absent in a step: ${why}`, {
    hint: `Call ${instead} with it.`,
  });
}
