import type { AttentionShape } from "../../web/src/attention/attentionShape.js";
import type { AttentionFacts } from "../../web/src/webgpu/plan/facts.js";
import type { Limits } from "../../web/src/webgpu/plan/limits.js";

/** The limits that every WebGPU device has. */
export const SMALLEST: Limits = {
  maxComputeWorkgroupStorageSize: 16384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupsPerDimension: 65535,
  maxStorageBufferBindingSize: 2 ** 27,
  maxBufferSize: 2 ** 28,
};

export const DESKTOP: Limits = {
  ...SMALLEST,
  maxComputeWorkgroupStorageSize: 32768,
  maxStorageBufferBindingSize: 2 ** 30,
  maxBufferSize: 2 ** 30,
};

/** What a plan needs to know of a call without options that returns its output. */
export function facts(shape: Partial<AttentionShape>, rest: Partial<AttentionFacts> = {}): AttentionFacts {
  const numHeads = shape.numHeads ?? 16;
  const whole = {
    batchSize: 1,
    numHeads,
    numKvHeads: numHeads,
    queryLength: 4096,
    keyLength: 4096,
    headDim: 64,
    valueDim: 64,
    ...shape,
  };
  return {
    operation: "test",
    shape: whole,
    layout: "BHSD",
    kvLayout: "BHSD",
    dtypes: { query: "float32", key: "float32", value: "float32" },
    output: "float32",
    settingFeatures: 0,
    ring: false,
    dropout: false,
    emptyRows: "zero",
    ragged: false,
    numSequences: whole.batchSize,
    longestQuery: whole.queryLength,
    longestKey: whole.keyLength,
    wanted: { output: true, probs: undefined, topK: undefined, lse: false, entropy: false, scores: undefined },
    ...rest,
  };
}

/** Every head and query. */
export const ALL = { heads: undefined, queries: undefined, average: false };

/** The results that need every kernel of inspections. */
export const INSPECTED: AttentionFacts["wanted"] = {
  output: true,
  probs: ALL,
  topK: { k: 1, selection: ALL },
  lse: true,
  entropy: false,
  scores: undefined,
};
