import { useContext, useEffect, useState } from "react";

import type { AttentionOptions } from "../attention/attentionProblem.js";
import type { NoReturns, ResultOf } from "../attention/attentionResult.js";
import type { Returns } from "../attention/returns.js";
import { describe, isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import type { Report } from "../engine/report.js";
import type { Attention } from "../instance/attention.js";
import type { FloatTensor, FloatTensorLike } from "../tensor/tensor.js";
import { InstanceContext } from "./attentionProvider.js";
import { useSameValue } from "./useSameValue.js";

/** Options of `scaledDotProductAttention` that `useAttention` does not have, with the reason. */
const ABSENT = {
  signal: "the component aborts its calls itself",
  onProgress: "a function is a new one in every render",
  into: "every result is a new object",
  location: "its results are in JavaScript memory",
} as const;

/** Options of `useAttention`: those of `scaledDotProductAttention`, without the four that belong to the component. */
export interface UseAttentionOptions<R extends Returns | undefined = Returns | undefined> extends Omit<
  AttentionOptions,
  keyof typeof ABSENT | "returns"
> {
  /** What to return. Default: only `output`. */
  readonly returns?: R | undefined;
}

/** What `useAttention` gives. `data` and `error` are called as in SWR and TanStack Query. */
export interface UseAttentionResult<Data> {
  /** The latest result; undefined before the first. While a new input is computed, it is still that of the input before. */
  readonly data: Data | undefined;
  /** Why the current input has no result: most often a HeadwiseError. `data` is then still that of an input before. */
  readonly error: Error | undefined;
  /** Whether the first result is being computed: there is nothing to show yet. */
  readonly isLoading: boolean;
  /** Whether a result is being computed, the first or a later one. */
  readonly isComputing: boolean;
  /** The instance's report at the time of `data`: which engine computed, and why. */
  readonly report: Report | undefined;
}

type Argument = FloatTensorLike | null | undefined;

/** The arguments of a render. As long as they are equal, they are the same object in every render. */
interface Inputs {
  readonly query: Argument;
  readonly key: Argument;
  readonly value: Argument;
  readonly options: UseAttentionOptions;
}

/** What the last call gave, and its inputs. */
interface Settled {
  readonly inputs?: Inputs;
  readonly data?: unknown;
  readonly report?: Report;
  readonly error?: unknown;
}

const NOTHING: Settled = {};

/**
 * Attention of queries to keys, computed by the instance that the components share. It computes after the component is
 * mounted, and again when an input changes; then it aborts the call before. On a server it computes nothing.
 *
 * Inputs are compared by what they hold, so a component may make its arrays and options in every render. Do not change
 * an array that you have given. Formulas and other instances of classes are compared by identity: make them outside of
 * the component, or in `useMemo`.
 *
 * @param query - Shapes and errors are those of `scaledDotProductAttention`; errors are in `error`. While one of the three
 *   tensors is null or undefined, nothing is computed.
 * @param value - With `returns: { output: false }` it may be absent.
 */
export function useAttention<const R extends Returns | undefined = NoReturns, Q extends FloatTensorLike = FloatTensor>(
  query: Q | null | undefined,
  key: FloatTensorLike | null | undefined,
  value: FloatTensorLike | null | undefined,
  options: UseAttentionOptions<R> = {},
): UseAttentionResult<ResultOf<R, Q>> {
  const shared = useContext(InstanceContext);
  const inputs = useSameValue<Inputs>({ query, key, value, options });
  const [settled, settle] = useState(NOTHING);

  useEffect(() => shared.use(), [shared]);
  useEffect(() => {
    if (!isComplete(inputs)) return;
    const call = new AbortController();
    const { signal } = call;
    shared
      .run((instance) => attend(instance, inputs, signal))
      .then(
        (result) => !signal.aborted && settle({ inputs, ...result }),
        (error: unknown) => !signal.aborted && settle((before) => ({ ...before, inputs, error })),
      );
    return () => call.abort();
  }, [shared, inputs]);

  const isComputing = isComplete(inputs) && settled.inputs !== inputs;
  return {
    data: settled.data as ResultOf<R, Q> | undefined,
    error: settled.inputs === inputs ? (settled.error as Error | undefined) : undefined,
    isLoading: isComputing && settled.data === undefined,
    isComputing,
    report: settled.report,
  };
}

/** Inputs that are enough for a call. One without an output needs no value. */
type Complete = Inputs & { readonly [Name in "query" | "key"]: FloatTensorLike };

const isGiven = (tensor: Argument) => tensor !== null && tensor !== undefined;

const isComplete = (inputs: Inputs): inputs is Complete =>
  [inputs.query, inputs.key].every(isGiven) && (isGiven(inputs.value) || wantsNoOutput(inputs.options));

/** The options are not checked yet. */
const wantsNoOutput = (options: UseAttentionOptions | null) => options?.returns?.output === false;

async function attend(instance: Attention, { query, key, value, options }: Complete, signal: AbortSignal) {
  if (!isObject(options)) throw new OptionError(`useAttention: options must be an object, got ${describe(options)}`);
  for (const [name, reason] of Object.entries(ABSENT))
    if ((options as Readonly<Record<string, unknown>>)[name] !== undefined)
      throw new OptionError(`useAttention: ${name} must be absent: ${reason}`);
  const needed = (value ?? undefined) as FloatTensorLike; // absent in a call without an output
  const data = await instance.scaledDotProductAttention(query, key, needed, { ...options, signal });
  return { data, report: instance.report };
}
