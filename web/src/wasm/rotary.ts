import type { PlacedOutput } from "../attention/attentionResult.js";
import { refuseOverlap } from "../attention/overlap.js";
import { kindNumber } from "../position/checkedAngles.js";
import type { CheckedAngles } from "../position/rotaryAngles.js";
import type { RotaryProblem } from "../position/rotaryProblem.js";
import type { Eventually } from "../turn/context.js";
import { placeOutput } from "./attention.js";
import type { WasmCore } from "./core.js";
import type { Arena } from "./heap.js";
import { DTYPE, LAYOUT, placeInput } from "./inputs.js";
import type { RotaryCall, RotaryProperties } from "./module.js";

export function runRotary(core: WasmCore, problem: RotaryProblem): Eventually<PlacedOutput> {
  const { operation, x } = problem;
  const inPlace = problem.output.into?.place.data === x.data;
  if (!inPlace) refuseOverlap(operation, problem.output, { x });
  return core.call(operation, (arena) => {
    const call = core.struct("RotaryCall");
    const collect = writeRotary(core, call, arena, problem);
    core.native.rotary(call);
    return collect;
  });
}

/** Writes a call. The function that it returns collects the result. */
export function writeRotary(
  core: WasmCore,
  call: RotaryCall,
  arena: Arena,
  problem: RotaryProblem,
): () => PlacedOutput {
  const { heads, x, positions, output } = problem;
  const { tables, ...angles } = problem.angles;
  call.reset();
  call.layout = LAYOUT[problem.layout];
  call.batchSize = heads.batchSize;
  call.numHeads = heads.numHeads;
  call.length = heads.length;
  call.headDim = heads.headDim;
  writeAngles(call, angles, arena);
  call.x = placeInput(arena, x);
  call.xDtype = DTYPE[x.dtype];
  if (tables) {
    call.cosines = arena.copy(tables.cos);
    call.sines = arena.copy(tables.sin);
    call.tableRows = tables.rows;
    call.rows = arena.copy(Int32Array.from(positions));
  } else {
    call.positions = arena.copy(new Uint8Array(positions.buffer));
  }
  const y = placeOutput(core.heap, arena, problem.operation, output);
  call.y = y.address;
  call.yDtype = DTYPE[output.dtype];
  return y.collect;
}

/** Options that are absent keep their defaults in C++. Arrays lie in the arena. */
export function writeAngles(call: RotaryProperties, angles: CheckedAngles, arena: Arena): void {
  const { rotaryDim, interleaved, base, scaling, frequencies, attentionFactor, tables, sections } = angles;
  const doubles = (list: Float64Array) => arena.copy(new Uint8Array(Float64Array.from(list).buffer));
  call.rotaryDim = rotaryDim;
  call.rotaryInterleaved = Number(interleaved);
  call.rotaryBase = base;
  call.rotaryScaling = kindNumber(angles);
  if (sections) {
    call.rotaryTemporalSection = sections[0]!;
    call.rotaryHeightSection = sections[1]!;
    call.rotaryWidthSection = sections[2]!;
  }
  if (frequencies) {
    call.rotaryFrequencies = doubles(frequencies);
    call.rotaryAttentionFactor = attentionFactor ?? 1;
  }
  if (tables) {
    call.rotaryCosines = arena.copy(tables.cos);
    call.rotarySines = arena.copy(tables.sin);
    call.rotaryTableRows = tables.rows;
  }
  if (!scaling) return;
  call.rotaryFactor = scaling.factor;
  if (scaling.originalLength !== undefined) call.rotaryOriginalLength = scaling.originalLength;
  if (scaling.sequenceLength !== undefined) call.rotarySequenceLength = scaling.sequenceLength;
  if (scaling.betaFast !== undefined) call.rotaryBetaFast = scaling.betaFast;
  if (scaling.betaSlow !== undefined) call.rotaryBetaSlow = scaling.betaSlow;
  if (scaling.truncate !== undefined) call.rotaryTruncate = Number(scaling.truncate);
  if (scaling.attentionFactor !== undefined) call.rotaryAttentionFactor = scaling.attentionFactor;
  if (scaling.mscale !== undefined) call.rotaryMscale = scaling.mscale;
  if (scaling.mscaleAllDim !== undefined) call.rotaryMscaleAllDim = scaling.mscaleAllDim;
  if (scaling.lowFreqFactor !== undefined) call.rotaryLowFreqFactor = scaling.lowFreqFactor;
  if (scaling.shortFactor) call.rotaryShortFactors = doubles(scaling.shortFactor);
  if (scaling.longFactor) call.rotaryLongFactors = doubles(scaling.longFactor);
  if (scaling.highFreqFactor !== undefined) call.rotaryHighFreqFactor = scaling.highFreqFactor;
}
