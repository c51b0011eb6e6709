import type { PlacedOutput } from "../../attention/attentionResult.js";
import { UnsupportedError } from "../../base/errors.js";
import type {
  LinearBackwardProblem,
  LinearProblem,
  PlacedLinearGradients,
  UploadWeightProblem,
} from "../../linear/linearProblem.js";
import type { NumberMap } from "../../step/stepProblem.js";
import { product } from "../../tensor/product.js";
import { BYTES, type PlacedFloats, type PlacedWeights } from "../../tensor/tensor.js";
import { outputRoom, writeOutput } from "../attention/output.js";
import { hand } from "../attention/result.js";
import { widen } from "../attention/widen.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { narrowStep } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import { addBias, mostBytes, one, placeMatrix, placePieces, transposed, type PlacedWeight } from "./matrix.js";
import { DEPTH, FEW_ROWS, project, type Matrix, type Product } from "./projection.js";
import { tokenRows } from "./tokenRows.js";
import { GpuWeight } from "./uploadedWeight.js";
import { columnSums, ROW, storeGradient, weightGradient, type Matrix4 } from "./weightGradient.js";

/** Lists the commands that bring a weight into the order of a matrix, which stays. */
export function recordUploadWeight(call: Call, problem: UploadWeightProblem): Deliver<GpuWeight> {
  const weight = new GpuWeight(call, (keep) => matrixFor(call, problem, keep));
  return () => weight;
}

/** Lists the commands of Y = X W + b. A weight that does not lie as a matrix is packed for the call. */
export function recordLinear(call: Call, problem: LinearProblem): Deliver<PlacedOutput> {
  const { bias } = problem;
  const room = (bytes: number) => call.room(bytes);
  const unbiased = uploadedMatrix(call, problem) ?? matrixInPlace(call, problem) ?? matrixFor(call, problem, room);
  return recordProduct(call, problem, bias ? withBias(call, unbiased, bias, room) : unbiased);
}

/**
 * The matrix of a problem for many calls, in memory that `keep` makes. A weight that was uploaded stays where it is.
 *
 * @returns Gives the matrix to a call.
 */
export function keptMatrix(call: Call, problem: LinearProblem, keep: Room): (call: Call) => Matrix {
  const { bias, uploaded } = problem;
  const own = uploaded ? undefined : matrixFor(call, problem, keep);
  const unbiased = (later: Call) => own ?? uploadedMatrix(later, problem)!;
  if (!bias) return unbiased;
  const { columns } = withBias(call, unbiased(call), bias, keep);
  return (later) => ({ ...unbiased(later), columns });
}

/** Lists the commands of Y = X W + b, or of a map of it, with a matrix that is there. */
export function recordProduct(
  call: Call,
  { rows, inputDim, outputDim, x, output, location }: LinearProblem,
  matrix: Matrix,
  map?: NumberMap,
): Deliver<PlacedOutput> {
  const narrow = narrowStep(output.dtype, rows * outputDim);
  const y = outputRoom(call, output, rows * outputDim, narrow, location);
  project(call, rowsOf(call, x, rows, inputDim).span, matrix, inOrder(rows, outputDim), y, { map });
  return writeOutput(call, output, y, rows * outputDim, narrow, location);
}

const uploadedMatrix = (call: Call, { uploaded }: LinearProblem) => (uploaded as GpuWeight | undefined)?.in(call);

/** Lists the commands of dX = dY Wᵀ, dW = Xᵀ dY, and db, the sum of the rows of dY. */
export function recordLinearBackward(call: Call, problem: LinearBackwardProblem): Deliver<PlacedLinearGradients> {
  const { rows, inputDim, outputDim, x, weight, dOutput, wanted, location } = problem;
  const dy = rowsOf(call, dOutput, rows, outputDim);
  const results: [keyof PlacedLinearGradients, ReturnType<typeof hand<"float32">>][] = [];
  const room = (name: keyof PlacedLinearGradients, shape: readonly number[]) => {
    const bytes = 4 * product(shape);
    const span = call.resultRoom(bytes, location);
    results.push([name, hand(call, location === "cpu" ? { ...span, bytes } : span, shape, "float32", location)]);
    return span;
  };
  if (wanted.dInput) {
    const back = transposed(weightOf(problem));
    const matrix = placedMatrix(call, back, outputDim, inputDim, (bytes) => call.room(bytes));
    project(call, dy.span, matrix, inOrder(rows, inputDim), room("dInput", x.shape));
  }
  if (wanted.dWeight) {
    const sums = weightGradient(call, rowsOf(call, x, rows, inputDim), dy);
    storeGradient(call, sums, 0, one(inputDim), one(outputDim), room("dWeight", weight.shape), weightOf(problem));
  }
  if (wanted.dBias)
    storeGradient(call, columnSums(call, dy), 0, one(1), one(outputDim), room("dBias", [outputDim]), ROW);
  return (mapped) => Object.fromEntries(results.map(([name, deliver]) => [name, deliver(mapped)]));
}

type Weighted = Pick<LinearProblem, "operation" | "weight" | "weightLayout" | "inputDim" | "outputDim"> &
  Partial<Pick<LinearProblem, "scales">>;

/** Makes room for a part of a matrix. */
type Room = (bytes: number) => Span;

function weightOf({ operation, weight, scales, weightLayout, inputDim, outputDim }: Weighted): PlacedWeight {
  if (weightLayout === "panels")
    throw new UnsupportedError(`${operation}: WebGPU does not read a weight with weightLayout "panels"`, {
      hint: "`hw.gpu.uploadWeight` brings a weight into the order of a GPU.",
    });
  const [inStride, outStride] = weightLayout === "in-out" ? [outputDim, 1] : [1, inputDim];
  return { weight, scales, offset: 0, inStride, outStride };
}

/**
 * The weight itself as a matrix, if its rows are whole vec4 and its floats lie [in, out] in one piece. Columns beyond its
 * last one are read from the next row, and are not stored.
 */
function matrixInPlace(call: Call, problem: LinearProblem): Matrix | undefined {
  const { rows, inputDim, outputDim, weight, weightLayout } = problem;
  const isMatrix = inputDim % (rows > FEW_ROWS ? DEPTH : 4) === 0 && outputDim % 4 === 0;
  const { dtype } = weight;
  if (dtype === "int8" || weightLayout !== "in-out" || !isMatrix) return undefined;
  if (BYTES[dtype] * inputDim * outputDim > mostBytes(call)) return undefined;
  const columns4 = outputDim / 4;
  const columns = call.upload(new Float32Array(8 * columns4)); // biases of 0; the gains are not read
  return { weight: call.place(weight), dtype, scales: undefined, columns, in4: inputDim / 4, columns4, tile4: 16 };
}

function matrixFor(call: Call, problem: Weighted, room: Room): Matrix {
  return placedMatrix(call, weightOf(problem), problem.inputDim, problem.outputDim, room);
}

function placedMatrix(call: Call, linear: PlacedWeight, inputs: number, outputs: number, room: Room): Matrix {
  const part = { linear, inputs: one(inputs), outputs: one(outputs), splitPairs: 0 };
  const upload = () => placePieces(call, linear.weight);
  return placeMatrix(call, room, upload, [part], 16)[0]!.matrix;
}

/** The matrix with a bias, whose columns lie in a room of their own. The gains are not read. */
function withBias(call: Call, matrix: Matrix, bias: PlacedWeights, room: Room): Matrix {
  const values = new Float32Array(8 * matrix.columns4);
  if (!bias.gpu) values.set(widen(call.operation, bias));
  const columns = room(values.byteLength);
  call.write(columns, 0, values);
  const biased = { ...matrix, columns };
  if (bias.gpu) addBias(call, biased, bias);
  return biased;
}

/** The numbers of a tensor as float32 rows of whole vec4. */
function rowsOf(call: Call, tensor: PlacedFloats, rows: number, width: number): Matrix4 {
  return { span: tokenRows(call, tensor, "BSE", [1, rows, width]), rows, row4: divideUp(width, 4) };
}

function inOrder(rows: number, columns: number): Product {
  return { rows, length: rows, first4: 0, columns, batch: 0, position: columns, feature: 1 };
}
