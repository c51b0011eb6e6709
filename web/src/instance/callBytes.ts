import type { AttentionProblem } from "../attention/attentionProblem.js";
import { HeadwiseError } from "../base/errors.js";
import type { EngineName, Report } from "../engine/report.js";
import { attentionMemory as wasmMemory } from "../wasm/attentionMemory.js";
import { attentionMemory as gpuMemory } from "../webgpu/plan/attentionMemory.js";
import type { Limits } from "../webgpu/plan/limits.js";
import { usableMemory } from "./usableMemory.js";

/** Bytes by purpose (`query`, `output`, `probs`, `scratch` and so on), and their sum. */
export type PlannedBytes = Readonly<Record<string, number>> & { readonly total: number };

/** The limits that every WebGPU device has, for a GPU that is not open. */
const LEAST_LIMITS: Limits = {
  maxComputeWorkgroupStorageSize: 16384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupsPerDimension: 65535,
  maxStorageBufferBindingSize: 2 ** 27,
  maxBufferSize: 2 ** 28,
};

/** What a call needs on an engine, or why it does not fit. */
export interface CallBytes {
  readonly bytes: PlannedBytes | undefined;
  readonly refusal: string | undefined;
}

/** Sizes calls on an engine, by what the report says of the engine. Both formulas are here: no engine need be open. */
export function bytesOn(engine: EngineName, report: Report): (problem: AttentionProblem) => CallBytes {
  return engine === "wasm" ? wasmBytes(report) : gpuBytes(report);
}

const withTotal = (bytes: Record<string, number>): PlannedBytes => ({
  ...bytes,
  total: Object.values(bytes).reduce((sum, part) => sum + part, 0),
});

function wasmBytes({ threads, maximumMemory = 0 }: Report): (problem: AttentionProblem) => CallBytes {
  const room = usableMemory(maximumMemory, threads);
  return (problem) => {
    const bytes = withTotal(wasmMemory(problem, threads));
    const fits = bytes.total <= room;
    return { bytes, refusal: fits ? undefined : `it needs ${bytes.total} bytes, and calls have ${room}` };
  };
}

function gpuBytes({ adapter }: Report): (problem: AttentionProblem) => CallBytes {
  const limits = { ...LEAST_LIMITS, ...(adapter?.limits as Partial<Limits> | undefined) };
  return (problem) => {
    try {
      return { bytes: withTotal(gpuMemory(problem, limits)), refusal: undefined };
    } catch (error) {
      if (!HeadwiseError.is(error)) throw error;
      return { bytes: undefined, refusal: error.message };
    }
  };
}
