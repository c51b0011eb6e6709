// What scaledDotProductAttention does without. Entries that have files beside them load it when it is first called.
// Each function checks a call; the function that it returns makes the call when its turn comes.

import type { Context } from "./attention.js";
import { attentionProblem, type AttentionOptions } from "./attentionProblem.js";
import type { Eventually, FloatResult, RecordedAttention } from "./backend.js";
import { cacheProblem, checkBytes, KvCache } from "./cache.js";
import { UnsupportedError } from "./errors.js";
import { Layer } from "./layer.js";
import { layerProblem } from "./layerProblem.js";
import { mergeProblem, type MergeResult } from "./merge.js";
import { readRagged } from "./ragged.js";
import { rotaryProblem } from "./rotary.js";
import { runWarmup, warmupProblem } from "./warmup.js";

export { readRagged };

type Work<T> = () => Eventually<T>;

export function mergeAttention({ backend }: Context, parts: unknown, options: unknown): Work<MergeResult> {
  const problem = mergeProblem("mergeAttention", parts, options);
  return () => backend.merge(problem);
}

export function rotaryEmbedding({ backend }: Context, x: unknown, options: unknown): Work<FloatResult> {
  const problem = rotaryProblem("rotaryEmbedding", x, options);
  return () => backend.rotary(problem);
}

export function multiHeadAttention(context: Context, options: unknown): Work<Layer> {
  const problem = layerProblem("multiHeadAttention", options);
  return async () => new Layer(context, problem, await context.backend.createLayer(problem));
}

export function kvCache(context: Context, options: unknown): Work<KvCache> {
  const problem = cacheProblem("kvCache", options);
  return async () => new KvCache(context, await context.backend.createCache(problem));
}

export function loadCache(context: Context, bytes: unknown): Work<KvCache> {
  const operation = "loadCache";
  const checked = checkBytes(operation, bytes);
  return async () => new KvCache(context, await context.backend.loadCache(operation, checked));
}

export function warmup({ backend }: Context, shape: unknown, options: AttentionOptions): Work<unknown> {
  const problem = warmupProblem("warmup", shape, options, backend.onGpu);
  return () => runWarmup(backend, problem);
}

export function encode(
  { backend, report }: Context,
  commandEncoder: object,
  query: unknown,
  key: unknown,
  value: unknown,
  options: unknown,
): Work<RecordedAttention> {
  const operation = "encode";
  if (!backend.encode)
    throw new UnsupportedError(
      `${operation}: this instance computes with ${report.backend}, which records no GPU commands`,
    );
  const problem = attentionProblem(operation, query, key, value, options, true, readRagged);
  return () => backend.encode!(commandEncoder, problem);
}
