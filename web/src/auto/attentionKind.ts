import { attentionProblem, OPTION_NAMES, type AttentionProblem } from "../attention/attentionProblem.js";
import { CallArguments } from "../read/callArguments.js";
import { readOptions } from "../read/options.js";
import { packsHeads, shapeOf, type Layout } from "../tensor/layout.js";
import { featureNames, featuresOf, sampleOptions } from "./features.js";
import type { Kind } from "./kind.js";
import { Numbers } from "./numbers.js";
import { floatsOf } from "./samples.js";
import { toleranceOf } from "./tolerance.js";

export const CHECK = "a check of the GPU";

/** Queries, and keys, of a small call. They are no multiples of a tile. */
const SAMPLE_ROWS = 70;
const SAMPLE_KEYS = 75;

/** From these numbers of keys on, kernels may compute the keys in parts: for few rows, and for many. */
const KEYS_IN_PARTS = { few: 512, many: 1024 } as const;
const SAMPLE_PARTS = { few: 600, many: 1100 } as const;

/** Up to this many rows of queries have kernels of their own. */
const FEW_ROWS = 8;

/** Above this many workgroups of 64 rows the keys are not computed in parts. */
const MOST_WORKGROUPS = 256;

/** The kind of a call of attention whose tensors lie in JavaScript. */
export function attentionKind(problem: AttentionProblem): Kind {
  const { shape, layout, kvLayout, query, key, value, output, ragged } = problem;
  const { headDim, valueDim, batchSize, numKvHeads } = shape;
  const features = featuresOf(problem.settings, problem.wanted);
  const group = shape.numHeads / numKvHeads;
  const rows = shape.queryLength * group;
  const few = rows <= FEW_ROWS ? "few" : "many";
  const workgroups = batchSize * numKvHeads * Math.ceil(rows / 64);
  const inParts = shape.keyLength >= KEYS_IN_PARTS[few] && (few === "few" || workgroups < MOST_WORKGROUPS);
  const sampleGroup = Math.min(group, 8);
  const queries = Math.max(1, Math.min(shape.queryLength, Math.ceil(SAMPLE_ROWS / sampleGroup)));
  const keys = Math.max(1, Math.min(shape.keyLength, inParts ? SAMPLE_PARTS[few] : SAMPLE_KEYS));
  const types = [query.dtype, key.dtype, value.dtype, output.dtype];
  const words = [
    `${headDim}×${valueDim}`,
    new Set(types).size === 1 ? types[0] : types.join(" "),
    rows <= FEW_ROWS || rows <= 16 ? `${queries * sampleGroup} rows` : "many rows",
    ...(inParts ? ["keys in parts"] : []),
    layout === kvLayout ? layout : `${layout} ${kvLayout}`,
    ...(ragged ? ["ragged"] : []),
    ...featureNames(features),
  ];
  return {
    name: `attention ${words.join(", ")}`,
    tolerance: toleranceOf(headDim, types.includes("float16")),
    async sample(engine) {
      const numbers = new Numbers(headDim + 31 * valueDim);
      const call = new CallArguments(CHECK);
      const tensor = (dtype: typeof query.dtype, order: Layout, numHeads: number, length: number, dim: number) =>
        floatsOf(numbers, dtype, shapeOf(order, order.length, { batchSize: 1, numHeads, length, headDim: dim }));
      const [q, k, v] = [
        tensor(query.dtype, layout, sampleGroup, queries, headDim),
        tensor(key.dtype, kvLayout, 1, keys, headDim),
        tensor(value.dtype, kvLayout, 1, keys, valueDim),
      ];
      const options = {
        layout,
        kvLayout,
        ...([layout, kvLayout].some((order) => packsHeads(order, order.length)) && {
          numHeads: sampleGroup,
          numKvHeads: 1,
        }),
        ...(ragged && { cuSeqLensQuery: cut(queries), cuSeqLensKey: cut(keys) }),
        ...sampleOptions({ ...features, lengths: features.lengths && !ragged }, numbers, {
          batchSize: 1,
          numHeads: sampleGroup,
          queries,
          keys,
        }),
      };
      return [await engine.attention(attentionProblem(call, q, k, v, readOptions(call, options, OPTION_NAMES)))];
    },
  };
}

/** Two sequences: cumulative lengths. */
function cut(length: number): Int32Array {
  return Int32Array.of(0, Math.ceil(length / 3), length);
}
