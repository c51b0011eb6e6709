// The kernels that a plain call on a device with subgroups would compile, from the package's own plan and shaders.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { build } from "esbuild";

import { root } from "../../../web/build/paths.mjs";
import { attentionProducts, projectionProducts } from "./tile.mjs";

const WIDTHS = [64, 128];
const LENGTH = 2048;

/** A device like AMD's of today. */
const LIMITS = {
  maxComputeWorkgroupStorageSize: 32768,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupsPerDimension: 65535,
  maxStorageBufferBindingSize: 2 ** 30,
  maxBufferSize: 2 ** 30,
  together: 8,
};

const SOURCE = `
export { planAttention } from "./plan/plan.js";
export { shaderSource } from "./kernels/shader.js";
export * as projection from "./layer/projection.js";
export * as gradient from "./layer/weightGradient.js";
export * as tiles from "./plan/tiles.js";
`;

/** Each kernel: name, WGSL, and the products of a lane in one of its tiles. */
export async function kernels() {
  const source = await loadSource();
  const tilings = source.tiles.tilingsOf(LIMITS);
  const attentions = WIDTHS.flatMap((width) => tilings.map((tiling) => attention(source, width, tiling)));
  return [...attentions, projection(source), weightGradient(source)];
}

async function loadSource() {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-source-"));
  const outfile = path.join(folder, "source.mjs");
  const stdin = { contents: SOURCE, resolveDir: path.join(root, "web/src/webgpu"), loader: "ts" };
  try {
    await build({ stdin, bundle: true, format: "esm", platform: "node", loader: { ".wgsl": "text" }, outfile });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function attention({ planAttention, shaderSource }, width, tiling) {
  const { attend } = planAttention(factsOf(width), { ...LIMITS, tiling });
  const { kernel } = attend.attend;
  const { queryRows: rows, keys, valueColumns, threads } = attend.tiles;
  const source = (constants) =>
    withWidth(shaderSource({ ...kernel, constants: { ...kernel.constants, ...constants } }), width);
  return {
    ...{ kind: kernel.name === "attend" ? "general" : "attention", width, tile: `${rows} × ${keys}`, threads },
    name: `attention-${width}-${tiling}`,
    wgsl: source({}),
    interior: "CAREFUL" in kernel.constants && source({ CAREFUL: false }),
    expected: attentionProducts({ rows, keys, width, valueWidth: Math.min(width, valueColumns), threads }),
  };
}

/** The general kernel takes the width at run time. Here it is a constant, so that the trips of loops are known. */
function withWidth(wgsl, width) {
  return wgsl.replaceAll(/\bparams\.(depth4|value4)\b/g, `${width / 4}u`);
}

function projection({ projection: { planProjection, PROJECT_TILE }, shaderSource }) {
  const matrix = { in4: 256, tile4: PROJECT_TILE.columns / 4, dtype: "float32" };
  const { kernel } = planProjection({ rows: LENGTH, columns: 64 }, matrix, false).product;
  const { rows, columns, depth, threads } = PROJECT_TILE;
  return {
    ...{ kind: "projection", width: undefined, tile: `${rows} × ${columns}`, threads },
    name: "projection",
    wgsl: shaderSource(kernel),
    interior: false,
    expected: projectionProducts({ rows, columns, depth, threads }),
  };
}

function weightGradient({ gradient: { planWeightGradient, GRADIENT_TILE }, shaderSource }) {
  const { kernel } = planWeightGradient(LENGTH, 256, 256);
  const { columns, depth, threads } = GRADIENT_TILE;
  return {
    ...{ kind: "weight gradient", width: undefined, tile: `${columns} × ${columns}`, threads },
    name: "weight-gradient",
    wgsl: shaderSource(kernel),
    interior: false,
    expected: projectionProducts({ rows: columns, columns, depth, threads }),
  };
}

/** A plain call of self-attention in float32. */
function factsOf(width) {
  const heads = { batchSize: 1, numHeads: 8, numKvHeads: 8 };
  return {
    operation: "isa",
    shape: { ...heads, queryLength: LENGTH, keyLength: LENGTH, headDim: width, valueDim: width },
    ...{ layout: "BHSD", kvLayout: "BHSD", output: "float32", emptyRows: "zero" },
    dtypes: { query: "float32", key: "float32", value: "float32" },
    ...{ mask: false, bias: undefined, alibi: false, softcap: false, ring: false, sinks: false, ragged: false },
    ...{ numSequences: 1, longestQuery: LENGTH, longestKey: LENGTH },
    wanted: { output: true, lse: false, entropy: false, probs: undefined, scores: undefined, topK: undefined },
  };
}
