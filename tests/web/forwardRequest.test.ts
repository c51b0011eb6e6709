// How a call of `layer.forward` is read.

import { expect, test } from "@jest/globals";

import { forwardRequest } from "../../web/src/layer/forwardRequest.js";
import { layerProblem } from "../../web/src/layer/layerProblem.js";
import { CallArguments } from "../../web/src/read/callArguments.js";
import { randomTensor } from "./randomTensor.js";

test("without a cache a patch is brought to its full shape once", () => {
  const weights = { Wq: randomTensor(1, [8, 8]), Wk: randomTensor(2, [8, 8]), Wv: randomTensor(3, [8, 8]) };
  const { shape, layout } = layerProblem(new CallArguments("multiHeadAttention"), {
    numHeads: 2,
    outputProjection: false,
    weights,
  });
  const form = { shape, layout, turns: undefined, positionRows: undefined, usesPositions: false };
  const x = randomTensor(4, [1, 3, 8]);
  const request = forwardRequest(new CallArguments("layer.forward"), { onGpu: false }, form, x, {
    patch: { headOutputs: { data: [0.5] } },
  });
  const { patches } = request.inTurn();
  expect(patches?.headOutputs?.data).toEqual(new Float32Array(2 * 3 * 4).fill(0.5));
  expect(request.inTurn().patches).toBe(patches);
});
