import type { AttentionSettings } from "../attention/attentionSettings.js";
import { assertIntact } from "../call/views.js";
import { gpuDataOf } from "../tensor/gpuTensor.js";

interface WithData {
  readonly data: unknown;
}

/** The tensors that a problem of any kind may have. */
export interface ProblemTensors {
  readonly operation: string;
  readonly location?: "cpu" | "gpu";
  readonly query?: WithData | undefined;
  readonly key?: WithData | undefined;
  readonly value?: WithData | undefined;
  readonly x?: WithData | undefined;
  readonly settings?: AttentionSettings;
  readonly parts?: readonly { readonly output: WithData; readonly lse: WithData }[];
  readonly output?: { readonly into?: WithData | undefined };
}

function tensorsOf({ query, key, value, x, settings, parts, output }: ProblemTensors): WithData[] {
  const named = [query, key, value, x, settings?.mask?.tensor, settings?.bias?.tensor, output?.into];
  const all = [...named, ...(parts ?? []).flatMap((part) => [part.output, part.lse])];
  return all.filter((tensor): tensor is WithData => tensor !== undefined);
}

/** Whether a tensor of the call lies on the GPU, or a result stays there. */
export function touchesGpu(problem: ProblemTensors): boolean {
  return problem.location === "gpu" || tensorsOf(problem).some(gpuDataOf);
}

/** Throws if an array of the call was detached. That can happen while a GPU tries to compute it. */
export function assertAllIntact(problem: ProblemTensors): void {
  for (const { data } of tensorsOf(problem))
    if (ArrayBuffer.isView(data)) assertIntact(problem.operation, "an input", data);
}
