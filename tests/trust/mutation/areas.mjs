// What is mutated: the areas of both languages, their files, and the tests that come first.

/**
 * Areas of the C++ core.
 *
 * @typedef {object} CppArea
 * @property {string} name
 * @property {string[]} files
 * @property {string[]} suites - patterns of GoogleTest. They run first. A mutant that they let live meets all other tests.
 */

/** @type {CppArea[]} */
export const cppAreas = [
  {
    name: "masks",
    files: ["call.cpp", "call_formulas.cpp", "rows.cpp", "scores.cpp", "shown_keys.cpp"].map(
      (file) => `cpp/src/attention/${file}`,
    ),
    suites: ["Masks.*", "Window.*", "EmptyRows.*", "*EveryCase*", "*Isolation*", "*Ragged*", "FormulaCalls.*"],
  },
  {
    name: "softmax",
    files: [
      "cpp/src/attention/merge.cpp",
      "cpp/src/attention/softmax.cpp",
      "cpp/src/attention/softmax.h",
      "cpp/src/kernel/functions.h",
      "cpp/src/kernel/softmax_step.h",
    ],
    suites: ["OnlineSoftmax.*", "*SoftmaxStep*", "*Kernels*", "Merge.*", "Sinks.*", "EmptyRows.*", "*EveryCase*"],
  },
  {
    name: "tiling",
    files: [
      "cpp/src/attention/attend_tile.cpp",
      "cpp/src/attention/attention.cpp",
      "cpp/src/attention/plan.cpp",
      "cpp/src/attention/tile_panels.cpp",
      "cpp/src/base/strides.cpp",
    ],
    suites: ["Tiles.*", "Threads.*", "Scratch.*", "Layouts.*", "*EveryCase*", "*Ragged*", "*Isolation*"],
  },
  {
    name: "caches",
    files: [
      "cpp/src/cache/append.cpp",
      "cpp/src/cache/attend_cached.cpp",
      "cpp/src/cache/kv_cache.cpp",
      "cpp/src/cache/kv_cache_file.cpp",
      "cpp/src/source/key_value_source.cpp",
      "cpp/src/source/kv_cache_store.cpp",
    ],
    suites: ["*Cache*", "Rings.*"],
  },
];

/** Areas of the TypeScript package. Coverage says which tests can kill a mutant. */
export const typescriptAreas = [
  {
    name: "masks",
    files: [
      "attention/attentionProblem",
      "attention/attentionSettings",
      "attention/callPositions",
      "attention/masks",
      "attention/ragged",
      "read/settingKinds",
      "read/settingTable",
    ].map((file) => `web/src/${file}.ts`),
  },
  {
    name: "softmax",
    files: [
      "web/src/attention/mergeProblem.ts",
      "web/src/attention/returns.ts",
      "web/src/attention/attentionResult.ts",
      "web/src/webgpu/attention/merge.ts",
    ],
  },
  {
    name: "tiling",
    files: ["attentionMemory", "attentionParams", "limits", "plan", "sequences", "strides", "tiles"].map(
      (file) => `web/src/webgpu/plan/${file}.ts`,
    ),
  },
  {
    name: "caches",
    files: [
      "appendProblem",
      "attendProblem",
      "cachePositions",
      "cacheProblem",
      "kvCache",
      "lastAppend",
      "savedRows",
      "tokenRange",
    ].map((file) => `web/src/cache/${file}.ts`),
  },
  {
    name: "option reading",
    files: ["callArguments", "options", "otherNames", "outputForm", "plainNumbers", "record", "views"].map(
      (file) => `web/src/read/${file}.ts`,
    ),
  },
];

/**
 * The Jest files that may kill a mutant of TypeScript. Those of WebGPU use the software adapter if there is no GPU. Tests of
 * random calls and of gradients are left out: they take long.
 */
export const typescriptTests = [
  ...[
    "arrayHints",
    "attendInside",
    "attention",
    "attentionProblem",
    "badInput",
    "cache",
    "cacheUse",
    "errors",
    "forgedCaches",
    "formulaCalls",
    "instance",
    "layouts",
    "masks",
    "oneReading",
    "options",
    "otherNames",
    "ownAnglesAndPositions",
    "placement",
    "plainNumbers",
    "plan",
    "randomMerges",
    "resultArray",
    "sizeArithmetic",
    "tensor",
  ].map((name) => `tests/web/${name}.test.ts`),
  "tests/conformance/onnxAdapter.test.ts",
  ...[
    "attention",
    "backwardPlan",
    "cache",
    "dropout",
    "formula",
    "formulaPlaces",
    "formulaShader",
    "gpuTensors",
    "plan",
    "shader",
  ].map((name) => `tests/webgpu/${name}.test.ts`),
];
