import type { OptionReader } from "../call/options.js";
import { UnsupportedError } from "../errors/errors.js";
import type { ForwardOptions } from "../layer/forwardOptions.js";

/** Options of forward that differ from call to call, or ask for more than the output. */
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

/** Refuses what a step cannot hold. */
export function refuseChanging(options: OptionReader): void {
  for (const name of NEVER)
    if (options.has(name)) throw refused(options, name, "a step gives only outputs, and every run is the same");
  if (options.has("cache"))
    for (const name of WITHOUT_CACHE)
      if (options.has(name)) throw refused(options, name, "the cache has more keys in every run");
  if (options.value("emptyRows") === "throw")
    throw new UnsupportedError(`${options.operation}: emptyRows must not be "throw" in a step`);
}

function refused({ operation }: OptionReader, name: string, why: string): UnsupportedError {
  return new UnsupportedError(`${operation}: ${name} must be absent in a step: ${why}`, {
    hint: "Call layer.forward for it.",
  });
}
