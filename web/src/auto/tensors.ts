import type { AttentionSettings } from "../attention/attentionSettings.js";
import { assertIntact } from "../base/intact.js";

/** A tensor, wherever it lies. */
interface Lying {
  readonly data?: unknown;
  readonly gpu?: object | undefined;
}

/** The tensors that a problem of any kind may have. */
export interface ProblemTensors {
  readonly operation: string;
  readonly location?: "cpu" | "gpu";
  readonly query?: Lying | undefined;
  readonly key?: Lying | undefined;
  readonly value?: Lying | undefined;
  readonly x?: Lying | undefined;
  readonly weight?: Lying | undefined;
  readonly scales?: Lying | undefined;
  readonly bias?: Lying | undefined;
  readonly dOutput?: Lying | undefined;
  readonly dLse?: Lying | undefined;
  readonly lse?: Lying | undefined;
  readonly settings?: AttentionSettings;
  readonly parts?: readonly { readonly output: Lying; readonly lse: Lying }[];
  /** The form of the output, or an output that was given. */
  readonly output?: Lying & { readonly into?: { readonly place: Lying } | undefined };
}

function tensorsOf(problem: ProblemTensors): Lying[] {
  const { query, key, value, x, weight, scales, bias, dOutput, dLse, lse, settings, parts, output } = problem;
  const named = [
    query,
    key,
    value,
    x,
    weight,
    scales,
    bias,
    dOutput,
    dLse,
    lse,
    output,
    settings?.mask?.tensor,
    settings?.bias?.tensor,
    output?.into?.place,
  ];
  const all = [...named, ...(parts ?? []).flatMap((part) => [part.output, part.lse])];
  return all.filter((tensor): tensor is Lying => tensor !== undefined);
}

/** Whether a tensor of the call lies on the GPU, or a result stays there. */
export function touchesGpu(problem: ProblemTensors): boolean {
  return problem.location === "gpu" || tensorsOf(problem).some(({ gpu }) => gpu);
}

/** Throws if an array of the call was detached. That can happen while a GPU tries to compute it. */
export function assertAllIntact(problem: ProblemTensors): void {
  for (const { data } of tensorsOf(problem))
    if (ArrayBuffer.isView(data)) assertIntact(problem.operation, "an input", data);
}
