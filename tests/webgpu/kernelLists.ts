import { MEAN_ROWS } from "../../web/src/webgpu/attention/meanRows.js";
import { meanOfWeights, weighValues } from "../../web/src/webgpu/attention/patchedWeights.js";
import type { FloatDtype, Kernel } from "../../web/src/webgpu/kernels/kernel.js";
import { FEATURE } from "../../web/src/webgpu/kernels/params.js";
import { kernelKey } from "../../web/src/webgpu/kernels/shader.js";
import { rowKernel } from "../../web/src/webgpu/step/rowOperations.js";
import { planProjection } from "../../web/src/webgpu/layer/projection.js";
import { headShares } from "../../web/src/webgpu/layer/views.js";
import { ACTIVATIONS, type NumberMap } from "../../web/src/step/stepProblem.js";
import { planColumnSums, planWeightGradient } from "../../web/src/webgpu/layer/weightGradient.js";
import type { AttentionFacts } from "../../web/src/webgpu/plan/facts.js";
import { flatKernel } from "../../web/src/webgpu/plan/flatKernels.js";
import type { Limits } from "../../web/src/webgpu/plan/limits.js";
import { planAttention } from "../../web/src/webgpu/plan/plan.js";
import { DESKTOP, facts, INSPECTED } from "./planFacts.js";

/**
 * Every kernel that plans choose: small and large tiles, all column counts, both stored dtypes, with and without
 * options.
 */
export function everyKernel(): Kernel[] {
  const kernels: Kernel[] = [
    flatKernel("pack", { HALF: false }),
    flatKernel("pack", { HALF: true }),
    flatKernel("narrow"),
    flatKernel("merge"),
    flatKernel("rotary"),
    flatKernel("turn_heads"),
    flatKernel("tokens", { HALF: false }),
    flatKernel("tokens", { HALF: true }),
    flatKernel("pack_weight"),
    ...storingKernels(),
    ...projectingKernels("float32"),
    ...projectingKernels("float16"),
  ];
  for (const maxComputeWorkgroupStorageSize of [16384, 32768])
    for (const queryLength of [1, 100])
      for (const valueDim of [32, 64, 96, 128])
        for (const dtype of ["float32", "float16"] as const)
          for (const mask of [false, true]) {
            const limits = { ...DESKTOP, maxComputeWorkgroupStorageSize };
            kernels.push(...kernelsOf(factsOf(queryLength, valueDim, dtype, mask), limits));
          }
  for (const numHeads of [3, 8])
    kernels.push(...kernelsOf(factsOf(1, 64, "float32", true, numHeads), SMALL), ...kernelsOfCaches(numHeads));
  return [...new Map(kernels.map((kernel) => [kernelKey(kernel), kernel])).values()];
}

/** The kernels of the gradients of linear and of layers. */
export const LAYER_GRADIENTS: readonly Kernel[] = [
  planWeightGradient(100, 16, 16).kernel,
  planColumnSums(100, 16).kernel,
  flatKernel("store_gradient"),
  flatKernel("heads_back"),
  flatKernel("gather_rows"),
];

const ROW_OF_SUM = {
  tensor: { data: new Float32Array(1), shape: [1], dtype: "float32" },
  offset: 0,
  stride: 0,
} as const;

/** Maps of products: each function, each other operand, and both. */
const MAPPED: readonly NumberMap[] = [...ACTIVATIONS, undefined].flatMap((f) => {
  const map = { f, divisor: 1, scale: 1, times: undefined, plus: undefined };
  return [map, { ...map, times: ROW_OF_SUM }, { ...map, plus: ROW_OF_SUM }];
});

/** The kernels of steps. */
export const OF_STEPS: readonly Kernel[] = [
  ...[0, 1, 2, 3, 4, 5, 6].map((FUNCTION) =>
    flatKernel("map_rows", { FUNCTION, TIMES: FUNCTION % 2 === 0, PLUS: FUNCTION % 3 === 0 }),
  ),
  ...(["float32", "float16", "bfloat16", "int8"] as const).map((dtype) =>
    flatKernel("take_rows", { INT8: dtype === "int8", BRAIN: dtype === "bfloat16", HALF: dtype === "float16" }),
  ),
  ...[true, false].map((flag) => rowKernel("norm_rows", { CENTRED: flag, SHIFT: flag })),
  rowKernel("softmax_rows"),
  rowKernel("top_rows"),
  ...MAPPED.flatMap((map) => [1, 8, 100].flatMap((rows) => [48, 1024].flatMap((in4) => {
    const { product, sum } = planProjection({ rows, columns: 64 }, { in4, tile4: 16, dtype: "float32" }, { map });
    return sum ? [sum.kernel] : [product.kernel];
  }))), // oxfmt-ignore
];

/** The kernels of views and patches of layers. */
export const INSIDE: readonly Kernel[] = [
  ...(["float32", "float16", "int8"] as const).map((dtype) =>
    flatKernel("move_rows", { HALF: dtype === "float16", INT8: dtype === "int8" }),
  ),
  MEAN_ROWS,
  headShares("float32"),
  headShares("float16"),
  ...([["float32", 1], ["float16", 2], ["int8", 4]] as const).flatMap(([stored, perLoad]) =>
    [meanOfWeights, weighValues].map((kernel) => kernel({ query: "float32", stored, perLoad })),
  ), // oxfmt-ignore
];

/** The kernels that read weights of bfloat16, in place of those for float16. */
export const BFLOAT16: readonly Kernel[] = [headShares("bfloat16"), ...projectingKernels("bfloat16")];

/** The kernels that read a cache's rows, with a float32 query. */
function kernelsOfCaches(numHeads: number): Kernel[] {
  return (["float16", "int8"] as const).flatMap((dtype) => {
    const facts = factsOf(1, 64, "float32", true, numHeads);
    const dtypes = { query: "float32", key: dtype, value: dtype } as const;
    return kernelsOf({ ...facts, dtypes, inPlace: ["key", "value"], ring: true }, SMALL);
  });
}

function kernelsOf(facts: AttentionFacts, limits: Limits): Kernel[] {
  const { attend, inspect } = planAttention(facts, limits);
  const looks = inspect.flatMap(({ kernel, topK }) => [kernel, ...(topK ? [topK.kernel] : [])]);
  return [attend!.attend.kernel, attend!.merge!.kernel, ...looks];
}

/** The kernels for devices with subgroups and float16. */
export function kernelsForFeatures(): Kernel[] {
  const facts = (queryLength: number, dtype: FloatDtype) => factsOf(queryLength, 64, dtype, true);
  const kernels = ([4, 8, 16] as const).flatMap((together) =>
    [1, 100].flatMap((queryLength) =>
      (["float32", "float16"] as const).flatMap((dtype) =>
        kernelsOf(facts(queryLength, dtype), { ...SMALL, together, halves: true }),
      ),
    ),
  );
  return [...new Map([flatKernel("lanes"), ...kernels].map((kernel) => [kernelKey(kernel), kernel])).values()];
}

function storingKernels(): Kernel[] {
  return [false, true].flatMap((HALF) => [
    flatKernel("key_means", { HALF }),
    ...(["float32", "float16", "int8"] as const).map((dtype) =>
      flatKernel("store_rows", { HALF, TO_HALF: dtype === "float16", TO_INT8: dtype === "int8" }),
    ),
  ]);
}

/** The kernels of projections: of one row, few rows, few rows of great depth, and many rows. */
function projectingKernels(dtype: "float32" | "float16" | "bfloat16"): Kernel[] {
  const tiles = [
    { tile4: 16, finishes: false },
    { tile4: 16, finishes: true },
    { tile4: 32, finishes: true }, // tiles are wide only for the norm of wide heads
  ] as const;
  return tiles.flatMap(({ tile4, finishes }) =>
    [1, 8, 100].flatMap((rows) => {
      const plan = planProjection({ rows, columns: 64 }, { in4: 1024, tile4, dtype }, { finishes });
      return [plan.product.kernel, ...(plan.sum ? [plan.sum.kernel] : [])];
    }),
  );
}

/** The largest tile needs more workgroup memory than the null device has. */
const SMALL: Limits = { ...DESKTOP, maxComputeWorkgroupStorageSize: 16384 };

function factsOf(
  queryLength: number,
  valueDim: number,
  dtype: FloatDtype,
  mask: boolean,
  numHeads = 1,
): AttentionFacts {
  const dtypes = { query: dtype, key: dtype, value: dtype };
  const rest = { dtypes, output: dtype, settingFeatures: mask ? FEATURE.mask : 0, wanted: INSPECTED };
  return facts({ numHeads, numKvHeads: 1, queryLength, valueDim }, rest);
}
