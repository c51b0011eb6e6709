import { OptionError } from "../base/errors.js";
import { withDefaults } from "../read/withDefaults.js";
import type { Floats } from "../tensor/plainTensor.js";
import { maxFlow } from "./maxFlow.js";
import { integers } from "./options.js";
import { mixing, MIXING_DEFAULTS, mixingLayers, type Mixing, type MixingOptions } from "./tokenMixing.js";

/** Options of attentionFlow. */
export interface FlowOptions extends MixingOptions {
  /** Tokens above the last layer, as indices. Default: all. */
  readonly from?: readonly number[] | Int32Array | undefined;
  /** Input tokens, as indices. Default: all. */
  readonly to?: readonly number[] | Int32Array | undefined;
}

const FLOW_DEFAULTS: Mixing & Record<"from" | "to", FlowOptions["from"] | undefined> = {
  residual: MIXING_DEFAULTS.residual,
  headFusion: MIXING_DEFAULTS.headFusion,
  from: undefined,
  to: undefined,
};

/** The largest product of pairs and arcs. It takes seconds; the memory is at most 24 bytes for each arc. */
const MAX_WORK = 2 ** 25;

/**
 * Attention flow (Abnar & Zuidema 2020, arXiv:2005.00928): the largest flow from a token above the last layer down to an
 * input token, in a network whose arcs have the weights of `rollout`, Ã = (1 − r)·A + r·I with rows of sum 1, as
 * capacities. It is from 0 to 1. It is at least as large as each path's smallest weight, and unlike a rollout the flows
 * of a row do not sum to 1. If a weight is NaN, all flows of its sequence are.
 *
 * The cost is high: a flow of its own for each pair, which goes through the L·S² arcs several times. `pairs · L · S²`
 * may be at most 2²⁵, with B · from.length · to.length pairs: in 12 layers all pairs of 40 tokens, or one pair of 1,600.
 *
 * @param probsPerLayer - For each layer, the first one first, `[B, H, S, S]`, `[H, S, S]` or `[S, S]`
 * @returns `[B, from.length, to.length]` or `[from.length, to.length]`
 * @throws OptionError if that is too much work.
 */
export function attentionFlow(probsPerLayer: readonly Floats[], options: FlowOptions = {}): Floats {
  const operation = "attentionFlow";
  const { from, to, ...rest } = withDefaults(operation, options, FLOW_DEFAULTS);
  const stack = mixingLayers(operation, probsPerLayer, rest);
  const { layers, batch, tokens, outer } = stack;
  const chosen = (name: string, list: FlowOptions["from"] | undefined) =>
    integers(operation, name, list ?? Array.from({ length: tokens }, (_, n) => n), 0, tokens - 1);
  const [sources, sinks] = [chosen("from", from), chosen("to", to)];
  const pairs = batch * sources.length * sinks.length;
  const arcs = layers.length * tokens * tokens;
  if (pairs * arcs > MAX_WORK)
    throw new OptionError(`${operation}: pairs times arcs must be at most ${MAX_WORK}, got ${pairs} times ${arcs}`, {
      hint: "Choose fewer tokens with `from` and `to`, or use `rollout`.",
    });
  const flows = Array.from({ length: batch }, (_, sequence) => {
    const down = layers.map((maps) => mixing(stack, maps, sequence)).reverse();
    const isBroken = down.some((step) => step.some(Number.isNaN));
    const flow = (source: number, sink: number) => (isBroken ? NaN : maxFlow(down, tokens, source, sink));
    return [...sources].flatMap((source) => [...sinks].map((sink) => flow(source, sink)));
  });
  return { data: Float32Array.from(flows.flat()), shape: [...outer, sources.length, sinks.length] };
}
