import type { PlacedOutput } from "../attention/attentionResult.js";
import { refuseOverlap } from "../attention/overlap.js";
import type { LinearBackwardProblem, LinearProblem, PlacedLinearGradients } from "../linear/linearProblem.js";
import type { WeightTensor } from "../linear/weight.js";
import { product } from "../tensor/product.js";
import { BYTES, elementCount, type TypedTensor } from "../tensor/tensor.js";
import type { Eventually } from "../turn/context.js";
import { placeOutput } from "./attention.js";
import type { WasmCore } from "./core.js";
import { LINE, type Arena } from "./heap.js";
import { DTYPE, placeInput } from "./inputs.js";
import type { LinearCall, LinearMapProperties } from "./module.js";

export function runLinear(core: WasmCore, problem: LinearProblem): Eventually<PlacedOutput> {
  const { operation, x, weight, scales, bias, output } = problem;
  refuseOverlap(operation, output, { x, weight, "weight.scales": scales, bias });
  return core.call(operation, (arena) => {
    const call = core.struct("LinearCall");
    const collect = writeLinear(core, call, arena, problem);
    core.native.linear(call);
    return collect;
  });
}

/** Writes a call. The function that it returns collects the result. */
export function writeLinear(
  core: WasmCore,
  call: LinearCall,
  arena: Arena,
  problem: LinearProblem,
): () => PlacedOutput {
  const { operation, scales, bias, output } = problem;
  call.reset();
  writeMap(call, arena, problem);
  call.inPanels = problem.weightLayout === "panels";
  if (call.inPanels) call.weight = onLine(core, arena, call.weight, problem.weight);
  if (scales) call.scales = placeInput(arena, scales);
  if (bias) {
    call.bias = placeInput(arena, bias);
    call.biasDtype = DTYPE[bias.dtype];
  }
  const y = placeOutput(core.heap, arena, operation, output);
  call.y = y.address;
  call.yDtype = DTYPE[output.dtype];
  return y.collect;
}

/** Where the kernels can read panels: at a line of memory. A view of a tensor may begin elsewhere; then it is copied. */
function onLine({ heap }: WasmCore, arena: Arena, address: number, { shape, dtype }: WeightTensor): number {
  if (address % LINE === 0) return address;
  const bytes = product(shape) * BYTES[dtype];
  const copy = arena.bytes(bytes);
  heap.move(address, bytes, copy);
  return copy;
}

export function runLinearBackward(core: WasmCore, problem: LinearBackwardProblem): Eventually<PlacedLinearGradients> {
  const { operation, x, weight, outputDim, dOutput, wanted } = problem;
  const shapes = { dInput: x.shape, dWeight: weight.shape, dBias: [outputDim] };
  return core.call(operation, (arena) => {
    const call = core.struct("LinearBackwardCall");
    call.reset();
    writeMap(call, arena, problem);
    call.dOutput = placeInput(arena, dOutput);
    call.dOutputDtype = DTYPE[dOutput.dtype];
    const results = (["dInput", "dWeight", "dBias"] as const)
      .filter((name) => wanted[name])
      .map((name) => {
        const shape = shapes[name];
        const result = arena.result("float32", elementCount(operation, name, shape));
        call[name] = result.address;
        const collect = (): TypedTensor<"float32"> => ({ data: result.collect(), shape: [...shape], dtype: "float32" });
        return [name, collect] as const;
      });
    core.native.linearBackward(call);
    return () => Object.fromEntries(results.map(([name, collect]) => [name, collect()]));
  });
}

/** Writes what a linear map and its gradient read. */
function writeMap(call: LinearMapProperties, arena: Arena, problem: LinearProblem | LinearBackwardProblem): void {
  const { rows, inputDim, outputDim, x, weight, weightLayout } = problem;
  call.rows = rows;
  call.inputDim = inputDim;
  call.outputDim = outputDim;
  call.x = placeInput(arena, x);
  call.xDtype = DTYPE[x.dtype];
  call.weight = placeInput(arena, weight);
  call.weightDtype = DTYPE[weight.dtype];
  if (weightLayout === "panels") return;
  call.inStride = weightLayout === "in-out" ? outputDim : 1;
  call.outStride = weightLayout === "in-out" ? 1 : inputDim;
}
