import type { BackwardProblem, PlacedGradients } from "../attention/backwardProblem.js";
import type { Eventually } from "../turn/context.js";
import { writeInputs } from "./attention.js";
import type { WasmCore } from "./core.js";
import { placeGradients, writeGradients } from "./gradients.js";
import { DTYPE, placeInput } from "./inputs.js";

export function runBackward(core: WasmCore, problem: BackwardProblem): Eventually<PlacedGradients> {
  const { operation, shape, query, key, value, output, lse, dOutput, dLse, wanted } = problem;
  return core.call(operation, (arena) => {
    const call = core.struct("BackwardCall");
    call.reset();
    writeInputs(call, arena, problem);
    call.givenOutput = placeInput(arena, output);
    call.givenOutputDtype = DTYPE[output.dtype];
    call.givenLse = placeInput(arena, lse);
    call.dOutput = placeInput(arena, dOutput);
    call.dOutputDtype = DTYPE[dOutput.dtype];
    if (dLse) call.dLse = placeInput(arena, dLse);
    const shapes = { dQuery: query.shape, dKey: key.shape, dValue: value.shape };
    const collect = placeGradients(call, arena, operation, shapes, wanted);
    const collectOthers = writeGradients(call, arena, { ...problem, numHeads: shape.numHeads });
    core.native.attentionBackward(call);
    return () => ({ ...collect(), ...collectOthers() });
  });
}
