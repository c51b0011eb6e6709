/** The published cases of ONNX's Attention: their inputs as tensors, and the verdict on an operator's outputs. */

import { toleranceOf, type OnnxCase } from "../reference/onnxTensors.js";
import { judge, worst, type Judgement, type Numbers } from "./judge.js";

export { inputsOf, type OnnxCase } from "../reference/onnxTensors.js";

export function judgeOnnx(results: Readonly<Record<string, Numbers>>, { outputs }: OnnxCase): Judgement {
  return worst(
    outputs.map(({ name, dtype, data }) => {
      const values = Float64Array.from(data, Number);
      const tolerance = values.map((x) => (Number.isFinite(x) ? toleranceOf(dtype, x) : 0));
      return judge(name, results[name], { values, tolerance });
    }),
  );
}
