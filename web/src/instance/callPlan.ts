import type { AttentionProblem } from "../attention/attentionProblem.js";
import { speedOf } from "../auto/pace.js";
import { loadOf, predict } from "../auto/speed.js";
import { attentionWork } from "../auto/work.js";
import type { EngineName, EngineSpeed, Report } from "../engine/report.js";
import { bytesOn, type PlannedBytes } from "./callBytes.js";
import { longestFitting } from "./longest.js";

/** What a call would cost. Each property has an entry for each engine that the instance has. */
export interface CallPlan {
  /** Bytes in the engine's memory while the call runs. Absent if the call exceeds a limit of the engine. */
  readonly bytes: Partial<Record<EngineName, PlannedBytes>>;
  /** Predicted time; absent if nothing is known of the engine. */
  readonly milliseconds: Partial<Record<EngineName, number>>;
  /** Where the prediction comes from, or why there is none. */
  readonly basis: Partial<Record<EngineName, string>>;
  /**
   * The longest sequence that fits: the number of keys, and of queries too if there are as many. Absent for a ragged
   * batch.
   */
  readonly longest: Partial<Record<EngineName, number>>;
  /** The engine that would compute the call now. */
  readonly engine: EngineName;
  /** Why that engine: a sentence. */
  readonly why: string;
}

/** What a plan needs to know of an instance. */
export interface PlanFacts {
  readonly report: Report;
  readonly places: readonly EngineName[];
  /** The speeds of the engines, as far as they are known. */
  readonly speeds: Partial<Record<EngineName, EngineSpeed>>;
}

export function planCall(problem: AttentionProblem, facts: PlanFacts): CallPlan {
  const plans = facts.places.map((engine) => [engine, enginePlan(engine, problem, facts)] as const);
  const each = <T>(read: (plan: EnginePlan) => T | undefined) =>
    Object.fromEntries(plans.map(([engine, plan]) => [engine, read(plan)]).filter(([, value]) => value !== undefined)) as Partial<Record<EngineName, T>>; // oxfmt-ignore
  const known = Object.fromEntries(plans) as Partial<Record<EngineName, EnginePlan>>;
  return {
    bytes: each(({ bytes }) => bytes),
    milliseconds: each(({ milliseconds }) => milliseconds),
    basis: each(({ basis }) => basis),
    longest: each(({ longest }) => longest),
    ...chosen(problem, facts, known),
  };
}

interface EnginePlan {
  readonly bytes: PlannedBytes | undefined;
  /** Why the call does not fit. */
  readonly refusal: string | undefined;
  readonly milliseconds: number | undefined;
  readonly basis: string;
  readonly longest: number | undefined;
}

function enginePlan(engine: EngineName, problem: AttentionProblem, { report, speeds }: PlanFacts): EnginePlan {
  const bytesOf = bytesOn(engine, report);
  const { bytes, refusal } = bytesOf(problem);
  const speed = speeds[engine];
  const milliseconds = speed && 1000 * predict(speedOf(speed), loadOf(engine, attentionWork(problem)));
  const longest = longestFitting(problem, (longer) => bytesOf(longer).refusal === undefined);
  return { bytes, refusal, milliseconds, basis: basisOf(engine, speed, report), longest };
}

function basisOf(engine: EngineName, speed: EngineSpeed | undefined, { adapter, reasons }: Report): string {
  const unknown = engine === "webgpu" && !adapter ? ", bytes by the limits that every GPU has" : "";
  if (!speed) return `no prediction: ${reasons[engine] ?? "no call has run"}${unknown}`;
  const from = { assumed: "assumed", measured: "measured in this process", kept: "measured on an earlier visit" };
  return `${from[speed.basis]}, refined by ${speed.calls} calls${unknown}`;
}

function chosen(
  { location }: AttentionProblem,
  { places, report }: PlanFacts,
  plans: Partial<Record<EngineName, EnginePlan>>,
): Pick<CallPlan, "engine" | "why"> {
  const { wasm, webgpu } = plans;
  const noRoom = (plan: EnginePlan | undefined) => (plan?.refusal ? ` It does not fit: ${plan.refusal}.` : "");
  if (location === "gpu") return { engine: "webgpu", why: `The results stay on the GPU.${noRoom(webgpu)}` };
  const [only] = places as [EngineName];
  if (places.length === 1) return { engine: only, why: `The instance has only ${only}.${noRoom(plans[only])}` };
  if (report.calibration.state !== "ready" || !webgpu || !wasm)
    return {
      engine: "wasm",
      why: `WebGPU is not used: ${report.reasons.webgpu ?? "it was not measured"}.${noRoom(wasm)}`,
    };
  if (webgpu.refusal) return { engine: "wasm", why: `The GPU cannot compute it: ${webgpu.refusal}.${noRoom(wasm)}` };
  const [onCpu, onGpu] = [wasm.milliseconds ?? Infinity, webgpu.milliseconds ?? Infinity];
  const engine = onGpu < onCpu ? "webgpu" : "wasm";
  const times = `${engine} is predicted to take ${rounded(Math.min(onCpu, onGpu))} ms, the other ${rounded(Math.max(onCpu, onGpu))} ms`;
  return { engine, why: `${times}.${noRoom(plans[engine])}` };
}

const rounded = (milliseconds: number) => Number(milliseconds.toPrecision(3));
