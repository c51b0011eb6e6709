// The functions of formulas without the attention around them: a small kernel evaluates every pair of a query and a key,
// and goes through the tiles of keys. It compiles in a moment, so that many formulas can be tried.

import type { AttentionProblem } from "../../web/src/attention/attentionProblem.js";
import type { FormulaData } from "../../web/src/formula/graph.js";
import { formulaForm } from "../../web/src/webgpu/formula/formulaForm.js";
import { formulaText } from "../../web/src/webgpu/formula/formulaText.js";
import { formulaWordCount, formulaWords } from "../../web/src/webgpu/formula/formulaWords.js";
import call from "../../web/src/webgpu/kernels/call.wgsl";
import finishRow from "../../web/src/webgpu/kernels/finish_row.wgsl";
import finitePart from "../../web/src/webgpu/kernels/finite_part.wgsl";
import floatBits from "../../web/src/webgpu/kernels/float_bits.wgsl";
import formulaNumbers from "../../web/src/webgpu/kernels/formula_numbers.wgsl";
import highProduct from "../../web/src/webgpu/kernels/high_product.wgsl";
import formulaRanges from "../../web/src/webgpu/kernels/formula_ranges.wgsl";
import formulaRules from "../../web/src/webgpu/kernels/formula_rules.wgsl";
import formulaScored from "../../web/src/webgpu/kernels/formula_scored.wgsl";
import formulaTiles from "../../web/src/webgpu/kernels/formula_tiles.wgsl";
import { STORED } from "../../web/src/webgpu/kernels/shader.js";
import task from "../../web/src/webgpu/kernels/task.wgsl";
import { withPart } from "../../web/src/webgpu/kernels/withPart.js";
import { tablesOf } from "../../web/src/webgpu/plan/attentionParams.js";
import { FEATURE, NO_PARAMS, packParams, PARAMS_TEXT } from "../../web/src/webgpu/kernels/params.js";
import { SEQUENCE_WORDS, type Sequence } from "../../web/src/webgpu/plan/sequences.js";

export interface Pairs {
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  /** All sequences have these rows. */
  readonly queryLength: number;
  readonly keyLength: number;
  /** By sequence: the position of query 0. */
  readonly offsets: readonly number[];
  /** Tokens that a ring has dropped after the first four. */
  readonly dropped?: number;
}

export const TILE_ROWS = 16;
export const TILE_KEYS = 8;

/** What the attention pass does with a tile: skip it, apply the formula pair by pair, or take all of it as visible. */
export type TileState = "skipped" | "mixed" | "all";
const STATES: readonly TileState[] = ["skipped", "mixed", "all"];

export interface Evaluated {
  /** [b, h, i, j]: the new scores, and whether the pair is visible. */
  readonly scores: Float32Array;
  readonly visible: Uint32Array;
  /** [b, g, tile of rows, key]: what is done with the tile of this key. */
  readonly tiles: readonly TileState[];
}

const ALIASES = `
const OPTIONS = true;
const PER = 1u;
alias stored = vec4<u32>;
alias loaded = vec4<u32>;
alias stored_query = vec4<u32>;
alias tile4 = vec4<f32>;
fn part_of(x: loaded, n: u32) -> stored { return x; }
const TILE_ROWS = ${TILE_ROWS}u;
const TILE_KEYS = ${TILE_KEYS}u;
`;

const MAIN = `
fn pairs_at(n: u32) {
  let j = i32(n % params.key_length);
  let i = n / params.key_length % params.query_length;
  let head = n / params.key_length / params.query_length % params.num_heads;
  let b = n / params.key_length / params.query_length / params.num_heads;
  let sequence = sequence_at(b);
  let row = with_formulas(make_row(sequence, head, i), sequence, b, i);
  output[n] = formula_score(row, j, mask[n]);
  rows[n] = select(0u, 1u, j >= row.begin && j < row.end && formula_rest(row, j));
}

fn tiles_at(n: u32) {
  let all_tiles = (params.key_length + TILE_KEYS - 1u) / TILE_KEYS;
  let task = narrowed(task_of(n, TILE_ROWS, 1u), TILE_ROWS, TILE_KEYS);
  let base = params.num_rows * params.key_length + n * params.key_length;
  for (var j0 = task.begin; j0 < task.end; j0 += i32(TILE_KEYS)) {
    let state = select(1u, 2u, formulas_rest(j0, min(j0 + i32(TILE_KEYS), task.end)));
    for (var j = j0; j < min(j0 + i32(TILE_KEYS), task.end); j++) { rows[base + u32(j)] = state; }
    j0 = skipped(task, TILE_ROWS, TILE_KEYS, j0);
  }
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let n = id.x;
  if (n < params.num_rows * params.key_length) { pairs_at(n); }
  if (n < params.workgroups) { tiles_at(n); }
}
`;

export class FormulaPairs {
  readonly #device: GPUDevice;
  readonly #pipelines = new Map<number, GPUComputePipeline>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** How many pipelines it has compiled. */
  get compiled(): number {
    return this.#pipelines.size;
  }

  /** @param s - [b, h, i, j]: the scores before the formula. */
  async evaluate(
    formulas: { readonly score?: FormulaData; readonly visible?: FormulaData },
    pairs: Pairs,
    s: Float32Array,
  ): Promise<Evaluated> {
    const { numHeads, numKvHeads, queryLength, keyLength, offsets, headDim, dropped = 0 } = pairs;
    const both = { score: formulas.score, visible: formulas.visible };
    const sequences = offsets.map((offset, batch): Sequence => ({
      batch,
      queryBegin: 0,
      numQueries: queryLength,
      queryLength,
      keyBegin: 0,
      numKeys: keyLength,
      keyLength,
      offset,
      dropped,
      seam: 0,
    }));
    const numRows = offsets.length * numHeads * queryLength;
    const groupSize = numHeads / numKvHeads;
    const rowTiles = Math.ceil((queryLength * groupSize) / TILE_ROWS);
    const workgroups = offsets.length * numKvHeads * rowTiles;
    const params = packParams({
      ...NO_PARAMS,
      num_heads: numHeads,
      num_kv_heads: numKvHeads,
      group_size: groupSize,
      query_length: queryLength,
      key_length: keyLength,
      num_rows: numRows,
      num_sequences: offsets.length,
      row_tiles: rowTiles,
      value_blocks: 1,
      key_parts: 1,
      keys_per_part: keyLength,
      ring_kept: 4,
      ring_window: keyLength,
      features: dropped > 0 ? FEATURE.ring : 0,
      heads_at: SEQUENCE_WORDS * sequences.length,
      chosen_at: SEQUENCE_WORDS * sequences.length + 3 * numHeads + formulaWordCount(both),
      workgroups,
    });
    const settings = { window: { left: undefined, right: undefined }, causal: "none" };
    const problem = { settings, shape: { numHeads } } as unknown as AttentionProblem;
    const tables = tablesOf(problem, sequences, formulaWords(both, headDim));
    const count = numRows * keyLength;
    const words = await this.#run(both, params, tables, s, count, count + workgroups * keyLength);
    return {
      scores: new Float32Array(words.output.buffer),
      visible: words.rows.subarray(0, count),
      tiles: Array.from(words.rows.subarray(count), (state) => STATES[state]!),
    };
  }

  async #run(
    { score, visible }: { score: FormulaData | undefined; visible: FormulaData | undefined },
    params: ArrayBuffer,
    tables: Int32Array,
    s: Float32Array,
    pairs: number,
    rows: number,
  ) {
    const device = this.#device;
    const { STORAGE, COPY_DST, COPY_SRC, MAP_READ, UNIFORM } = GPUBufferUsage;
    const pipeline = await this.#pipelineOf(score, visible);
    const made: GPUBuffer[] = [];
    const buffer = (size: number, usage: number) => {
      made.push(device.createBuffer({ size, usage }));
      return made.at(-1)!;
    };
    const filled = (data: ArrayBuffer | ArrayBufferView, usage: number) => {
      const target = buffer(Math.max(data.byteLength, 16), usage | COPY_DST);
      device.queue.writeBuffer(target, 0, data as ArrayBuffer);
      return target;
    };
    const [output, seen] = [buffer(4 * pairs, STORAGE | COPY_SRC), buffer(4 * rows, STORAGE | COPY_SRC)];
    const bound: [number, GPUBuffer][] = [
      [0, filled(params, UNIFORM)],
      [4, filled(s, STORAGE)],
      [6, filled(tables, STORAGE)],
      [7, output],
      [8, seen],
    ];
    const read = buffer(4 * (pairs + rows), MAP_READ | COPY_DST);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const entries = bound.map(([binding, each]) => ({ binding, resource: { buffer: each } }));
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(Math.ceil(pairs / 64));
    pass.end();
    encoder.copyBufferToBuffer(output, 0, read, 0, 4 * pairs);
    encoder.copyBufferToBuffer(seen, 0, read, 4 * pairs, 4 * rows);
    device.queue.submit([encoder.finish()]);
    await read.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(read.getMappedRange().slice(0));
    for (const each of made) each.destroy();
    return { output: words.slice(0, pairs), rows: words.slice(pairs) };
  }

  async #pipelineOf(score: FormulaData | undefined, visible: FormulaData | undefined): Promise<GPUComputePipeline> {
    const formula = formulaForm(score?.graph, visible?.graph)!;
    const known = this.#pipelines.get(formula.id);
    if (known) return known;
    const text = formulaText(formula);
    const rules = [
      highProduct,
      formulaNumbers,
      formulaRules,
      text.rules,
      formulaScored,
      formulaRanges,
      formulaTiles,
      text.tiles,
    ];
    const parts = [
      ALIASES,
      floatBits,
      PARAMS_TEXT,
      call,
      finishRow,
      task,
      STORED.float32.text,
      finitePart,
      ...rules,
      MAIN,
    ];
    const code = withPart(withPart(parts.join("\n"), "formula", true), "dropout", false);
    const module = this.#device.createShaderModule({ code });
    const pipeline = await this.#device.createComputePipelineAsync({
      layout: "auto",
      compute: { module, entryPoint: "main" },
    });
    this.#pipelines.set(formula.id, pipeline);
    return pipeline;
  }
}
