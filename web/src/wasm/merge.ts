import type { MergeProblem, PlacedMerge } from "../attention/mergeProblem.js";
import { refuseOverlap } from "../attention/overlap.js";
import type { Eventually } from "../turn/context.js";
import { placeOutput } from "./attention.js";
import type { WasmCore } from "./core.js";
import { DTYPE, LAYOUT, placeInput } from "./inputs.js";

export function runMerge(core: WasmCore, problem: MergeProblem): Eventually<PlacedMerge> {
  const { operation, shape, parts } = problem;
  const { heap, module } = core;
  const inputs = parts.flatMap(({ output, lse }, n) => [
    [`parts[${n}].output`, output] as const,
    [`parts[${n}].lse`, lse] as const,
  ]);
  refuseOverlap(operation, problem.output, Object.fromEntries(inputs));
  return core.call(operation, (arena) => {
    const call = core.struct("MergeCall");
    call.reset();
    call.batchSize = shape.batchSize;
    call.numHeads = shape.numHeads;
    call.queryLength = shape.queryLength;
    call.valueDim = shape.valueDim;
    call.layout = LAYOUT[problem.layout];
    call.sinks = arena.copy(problem.sinks);
    call.numParts = parts.length;
    call.parts = arena.bytes(parts.length * module.partSize());
    parts.forEach(({ output, lse }, n) => {
      const place = placeInput(arena, output);
      const lsePlace = placeInput(arena, lse);
      module.setPart(call.parts, n, place, DTYPE[output.dtype], lsePlace);
    });
    const output = placeOutput(heap, arena, operation, problem.output);
    call.output = output.address;
    call.outputDtype = DTYPE[problem.output.dtype];
    const length = shape.batchSize * shape.numHeads * shape.queryLength;
    const lse = arena.room("float32", length);
    call.lse = lse;
    core.native.merge(call);
    return () => ({
      output: output.collect(),
      lse: { data: heap.read(lse, "float32", length), shape: [...problem.lseShape], dtype: "float32" },
    });
  });
}
