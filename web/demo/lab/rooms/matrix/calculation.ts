import type { LayerOptions } from "headwise";

import type { Engine } from "../../engine/engine.js";
import type { Floats } from "../../engine/floats.js";
import { asTensor, headMatrix, transposed, type Matrix } from "../../shell/matrix.js";
import { joined, linear, visibleScores, weighted } from "./definition.js";
import type { Form, Inputs, Steps } from "./steps.js";

/**
 * Computes all steps by headwise, in this form. It has no public projections and always takes the softmax: the page
 * computes Q, K and V, and what follows from weights without softmax.
 */
export async function calculate(engine: Engine, inputs: Inputs, form: Form): Promise<Steps> {
  const { sizes, x, wo, bo } = inputs;
  const [q, k, v] = [linear(x, inputs.wq, inputs.bq), linear(x, inputs.wk, inputs.bk), linear(x, inputs.wv, inputs.bv)];
  const turned = (m: Matrix) => (form === "columns" ? transposed(m) : m);
  const { data, shape } = asTensor(turned(x));
  const layerInput = { data, shape: [1, ...shape] };
  const rules = {
    ...(inputs.scale ? {} : { scale: 1 }),
    causal: inputs.causal,
    excludeSelf: inputs.excludeSelf,
  };
  const layer = layerOf(inputs, form, true);
  const plain = await engine.forward(layer, layerInput, { scale: 1, returns: { output: false, scores: "raw" } });
  const whole = await engine.forward(layer, layerInput, {
    ...rules,
    returns: { output: true, probs: true, scores: "biased" },
  });
  const beforeJoin = await engine.forward(layerOf(inputs, form, false), layerInput, {
    ...rules,
    returns: { output: true },
  });

  const heads = Array.from({ length: sizes.numHeads }, (_, head) => {
    const masked = headMatrix(whole.scores, head);
    const weights = inputs.softmax ? headMatrix(whole.probs, head) : visibleScores(masked);
    return { raw: headMatrix(plain.scores, head), masked, weights };
  });
  if (inputs.softmax)
    return {
      q,
      k,
      v,
      heads,
      y: turned(headMatrix(beforeJoin.output as Floats)),
      out: turned(headMatrix(whole.output as Floats)),
    };
  const y = joined(heads.map(({ weights }, head) => weighted(weights, v, head, sizes)));
  return { q, k, v, heads, y, out: linear(y, wo, bo) };
}

/** The layer with the visitor's weights; without `project`, its output is that of the heads, side by side. */
function layerOf({ sizes, ...weights }: Inputs, form: Form, project: boolean): LayerOptions {
  const { inputDim, headDim, valueDim, numHeads } = sizes;
  const vector = ({ data }: Matrix) => ({ data: Float32Array.from(data), shape: [data.length] });
  return {
    inputDim,
    modelDim: numHeads * headDim,
    valueHeadDim: valueDim,
    outputDim: project ? inputDim : numHeads * valueDim,
    numHeads,
    layout: form === "columns" ? "BES" : "BSE",
    outputProjection: project,
    weights: {
      Wq: asTensor(weights.wq),
      bq: vector(weights.bq),
      Wk: asTensor(weights.wk),
      bk: vector(weights.bk),
      Wv: asTensor(weights.wv),
      bv: vector(weights.bv),
      ...(project && { Wo: asTensor(weights.wo), bo: vector(weights.bo) }),
    },
  };
}
