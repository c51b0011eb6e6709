import type { AttentionSettings } from "../attention/attentionSettings.js";
import { assertIntact } from "../call/views.js";

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
  readonly settings?: AttentionSettings;
  readonly parts?: readonly { readonly output: Lying; readonly lse: Lying }[];
  readonly output?: { readonly into?: { readonly place: Lying } | undefined };
}

function tensorsOf({ query, key, value, x, settings, parts, output }: ProblemTensors): Lying[] {
  const named = [query, key, value, x, settings?.mask?.tensor, settings?.bias?.tensor, output?.into?.place];
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
