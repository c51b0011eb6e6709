import { forwardRequest } from "../layer/forwardRequest.js";
import { layerProblem, type LayerProblem } from "../layer/layerProblem.js";
import { CallArguments } from "../read/callArguments.js";
import { CHECK } from "./attentionKind.js";
import { featureNames, sampleOptions, type Features } from "./features.js";
import type { Kind } from "./kind.js";
import { Numbers } from "./numbers.js";
import { floatsOf, type Floats } from "./samples.js";
import { toleranceOf } from "./tolerance.js";

const [INPUT, OUTPUT, HEADS, TOKENS] = [24, 20, 2, 21] as const;

/** Errors of the projections come to those of attention, and a norm raises them. */
const MORE_THAN_ATTENTION = 16;

/** What a layer of this form does, by options of forward. */
export function layerKind(problem: LayerProblem, call: { readonly dtype: Floats; readonly features: Features }): Kind {
  const { shape, layout, qkNorm, position } = problem;
  const { headDim, valueHeadDim } = shape;
  const numKvHeads = shape.numKvHeads === shape.numHeads ? HEADS : 1;
  const words = [
    `${headDim}×${valueHeadDim}`,
    layout,
    ...(call.dtype === "float32" ? [] : [call.dtype]),
    ...(numKvHeads === HEADS ? [] : ["grouped"]),
    ...(shape.outputProjection ? [] : ["no output projection"]),
    ...(qkNorm ? [qkNorm.kind] : []),
    ...(position.kind === "none" ? [] : [position.kind]),
    ...featureNames(call.features),
  ];
  return {
    name: `layer ${words.join(", ")}`,
    tolerance: MORE_THAN_ATTENTION * toleranceOf(headDim, call.dtype === "float16"),
    async sample(engine) {
      const numbers = new Numbers(headDim + 31 * valueHeadDim);
      const weight = (inputs: number, outputs: number) =>
        floatsOf(numbers, "float32", [inputs, outputs], 1 / Math.sqrt(inputs));
      const options = {
        numHeads: HEADS,
        numKvHeads,
        valueHeadDim,
        layout,
        outputProjection: shape.outputProjection,
        ...(qkNorm && { qkNorm: { kind: qkNorm.kind, epsilon: qkNorm.epsilon } }),
        ...(position.kind !== "none" && {
          position: {
            kind: position.kind,
            ...(position.kind === "learned" && { table: floatsOf(numbers, "float32", [TOKENS, INPUT]) }),
          },
        }),
        weights: {
          Wq: weight(INPUT, HEADS * headDim),
          Wk: weight(INPUT, numKvHeads * headDim),
          Wv: weight(INPUT, numKvHeads * valueHeadDim),
          ...(shape.outputProjection && { Wo: weight(HEADS * valueHeadDim, OUTPUT) }),
          bq: numbers.floats(HEADS * headDim, 0.1),
        },
      };
      const made = layerProblem(new CallArguments(CHECK), options);
      const layer = await engine.createLayer(made);
      try {
        const form = {
          shape: made.shape,
          layout,
          turns: made.position.kind === "rotary" ? made.position.angles : undefined,
          positionRows: undefined,
          usesPositions: true,
        };
        const x = floatsOf(numbers, call.dtype, layout === "BSE" ? [1, TOKENS, INPUT] : [1, INPUT, TOKENS]);
        const extents = { batchSize: 1, numHeads: HEADS, queries: TOKENS, keys: TOKENS };
        const given = sampleOptions(call.features, numbers, extents);
        return [await layer.forward(forwardRequest(new CallArguments(CHECK), engine, form, x, given).inTurn())];
      } finally {
        void layer.release();
      }
    },
  };
}
