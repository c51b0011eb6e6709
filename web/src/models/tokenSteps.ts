import type { Attention } from "../instance/attention.js";
import type { Int8Weight } from "../linear/weight.js";
import type { Recorder } from "../step/recorder.js";
import type { StepInputs } from "../step/step.js";
import type { StepTensor } from "../step/stepTensor.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { FloatWeightLike } from "../tensor/tensor.js";
import { LateStep } from "./lateStep.js";
import type { Network } from "./network.js";
import type { Linear } from "./parts.js";
import { RecordedPass, type TokenPass } from "./recordedPass.js";
import type { TokenBatch } from "./tokens.js";

/** So many tokens of a prompt go through the network at a time. */
const BLOCK = 64;

/**
 * The network as calls of the engine: one for a token, and one for a block of tokens of a prompt. The first token and the first
 * block record them. The network's layers and caches must lie on wasm.
 */
export class TokenSteps {
  readonly #network: Network;
  readonly #token: LateStep<{ logits: StepTensor }>;
  readonly #block: LateStep<{ last: StepTensor }> | undefined;

  constructor(hw: Attention, network: Network, logits: Linear, pass: TokenPass) {
    this.#network = network;
    this.#token = new LateStep(hw, async (recorder) => {
      const on = new RecordedPass(recorder, pass);
      return { logits: await logits(await hiddenOf(recorder, network, 1, on), on) };
    });
    const lastOf = async (recorder: Recorder) => {
      const hidden = await hiddenOf(recorder, network, BLOCK, new RecordedPass(recorder, pass));
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
    return Object.fromEntries(this.#network.tables.map(({ numbers }, n) => [String(n), numbers(tokens, start).data]));
  }
}

/** The last hidden states of tokens, whose numbers each run gets. */
function hiddenOf(recorder: Recorder, network: Network, length: number, on: RecordedPass): Promise<StepTensor> {
  const rows = network.tables.map(({ table: { tensor } }, n) =>
    recorder.rows(tensor as FloatWeightLike | Int8Weight, recorder.numbers(String(n), length)),
  );
  return network.hidden(rows, length, on);
}
