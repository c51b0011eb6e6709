import type { Attention } from "../instance/attention.js";
import type { Int8Weight } from "../linear/weight.js";
import type { Recorder } from "../step/recorder.js";
import type { StepInputs } from "../step/step.js";
import type { StepTensor } from "../step/stepTensor.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { FloatWeightLike } from "../tensor/tensor.js";
import { LateStep } from "./lateStep.js";
import type { EmbeddingTable } from "./embeddings.js";
import type { Network } from "./network.js";
import type { Linear, Table } from "./parts.js";
import { RecordedPass, type TokenPass } from "./recordedPass.js";
import type { TokenBatch } from "./tokens.js";

/** So many tokens of a prompt go through the network at a time. */
const BLOCK = 64;

/**
 * The network as calls of the engine: one for a token, and one for a block of tokens of a prompt. The first token and the first
 * block record them. The network's layers and caches must lie where steps compute.
 */
export class TokenSteps {
  readonly #network: Network;
  readonly #feed: (table: Table) => Feed;
  readonly #token: LateStep<{ logits: StepTensor }>;
  readonly #block: LateStep<{ last: StepTensor }> | undefined;

  constructor(hw: Attention, network: Network, logits: Linear, pass: TokenPass) {
    this.#network = network;
    const takesRows = hw.stepPlace === "wasm";
    const feed = (this.#feed = (table: Table) => (takesRows && table.tensor.shape.length === 2 ? NUMBERS : ROWS));
    this.#token = new LateStep(hw, async (recorder) => {
      const on = new RecordedPass(recorder, pass);
      return { logits: await logits(await hiddenOf(recorder, network, 1, on, feed), on) };
    });
    const lastOf = async (recorder: Recorder) => {
      const hidden = await hiddenOf(recorder, network, BLOCK, new RecordedPass(recorder, pass), feed);
      return { last: recorder.tokens(hidden, BLOCK - 1, BLOCK) };
    };
    this.#block = hw.recordsInPlace ? new LateStep(hw, lastOf) : undefined;
  }

  /** Bytes of the steps, if any was recorded. */
  get bytes(): number | undefined {
    const all = [this.#token.bytes, this.#block?.bytes].filter((bytes) => bytes !== undefined);
    return all.length > 0 ? all.reduce((sum, bytes) => sum + bytes) : undefined;
  }

  /**
   * The scores after a token, which stands at position `start`. undefined if the memory has no room for a step, and from then
   * on: in a worker it has copies of all weights.
   */
  async scores(token: TokenBatch, start: number, signal: AbortSignal | undefined): Promise<Float32Array | undefined> {
    return (await this.#token.run(this.#inputs(token, start), signal))?.logits.data;
  }

  /**
   * Reads the blocks at the beginning of a prompt. Caches are empty before it.
   *
   * @returns How many tokens were read, and the last hidden state of the last one.
   */
  async readBlocks(
    { data }: TokenBatch,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly count: number; readonly last: Floats | undefined }> {
    let count = 0;
    let last: Floats | undefined;
    while (this.#block && count + BLOCK <= data.length) {
      const tokens = { data: data.subarray(count, count + BLOCK), shape: [BLOCK], lengths: undefined };
      const read = await this.#block.run(this.#inputs(tokens, count), signal);
      if (!read) break;
      last = read.last;
      count += BLOCK;
    }
    return { count, last };
  }

  /** Gives the memory of the steps back. Later tokens record them again. */
  dispose(): void {
    this.#token.dispose();
    this.#block?.dispose();
  }

  #inputs(tokens: TokenBatch, start: number): StepInputs {
    const { tables } = this.#network;
    return Object.fromEntries(tables.map((from, n) => [String(n), this.#feed(from.table).given(from, tokens, start)]));
  }
}

/** The last hidden states of tokens, which each run gets. */
function hiddenOf(
  recorder: Recorder,
  network: Network,
  length: number,
  on: RecordedPass,
  feed: (table: Table) => Feed,
): Promise<StepTensor> {
  const rows = network.tables.map(({ table }, n) => feed(table).taken(recorder, String(n), table, length));
  return network.hidden(rows, length, on);
}

/** What a run gets for each table of embeddings, and how a step takes it. */
interface Feed {
  given(from: EmbeddingTable, tokens: TokenBatch, start: number): StepInputs[string];
  taken(recorder: Recorder, name: string, table: Table, length: number): StepTensor;
}

/** Numbers of rows, which the step takes from the table. */
const NUMBERS: Feed = {
  given: ({ numbers }, tokens, start) => numbers(tokens, start).data,
  taken: (recorder, name, { tensor }, length) =>
    recorder.rows(tensor as FloatWeightLike | Int8Weight, recorder.numbers(name, length)),
};

/** The rows themselves. So a GPU needs no copy of the table, and a table may be in panels. */
const ROWS: Feed = {
  given: ({ table, numbers }, tokens, start) => {
    const { data, shape } = table.rows(numbers(tokens, start));
    const width = shape.at(-1)!;
    return { data, shape: [data.length / width, width] };
  },
  taken: (recorder, name, { tensor }, length) => recorder.input(name, [length, tensor.shape[1]!]),
};
