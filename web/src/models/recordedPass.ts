import type { KvCache } from "../cache/kvCache.js";
import { OutOfMemoryError } from "../errors/errors.js";
import type { Attention } from "../instance/attention.js";
import type { Recorder } from "../step/recorder.js";
import type { Step, StepInputs, StepOutputs, StepResult } from "../step/step.js";
import type { StepActivation } from "../step/stepProblem.js";
import type { StepTensor } from "../step/stepTensor.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { FloatWeightLike } from "../tensor/tensor.js";
import type { Int8Weight } from "../linear/weight.js";
import type { ActivationName } from "./activations.js";
import type { Arithmetic, Weight } from "./arithmetic.js";
import type { Network } from "./network.js";
import type { AttentionCall, AttentionPart } from "./attentionPart.js";
import type { Linear } from "./parts.js";
import type { PassOptions } from "./pass.js";
import type { TokenBatch } from "./tokens.js";

/** The activations of models by the names that steps have for them. */
const NAMES = {
  gelu: "gelu",
  gelu_new: "geluTanh",
  gelu_pytorch_tanh: "geluTanh",
  gelu_fast: "geluTanh",
  quick_gelu: "quickGelu",
  relu: "relu",
  silu: "silu",
  swish: "silu",
  tanh: "tanh",
} as const satisfies Readonly<Record<ActivationName | "tanh", StepActivation>>;

/** What a token needs to go through a model: caches by the names of layers, and factors of heads. */
export interface TokenPass extends Pick<PassOptions, "headGain"> {
  readonly caches: ReadonlyMap<string, KvCache>;
}

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

/** A step that its first run records. */
class LateStep<O extends StepOutputs> {
  readonly #record: () => Promise<Step<O>>;
  #step: Step<O> | undefined;
  #isFull = false;

  constructor(hw: Attention, build: (recorder: Recorder) => Promise<O>) {
    this.#record = () => hw.record(build);
  }

  /** Bytes of the step, if it was recorded. */
  get bytes(): number | undefined {
    return this.#step?.bytes;
  }

  /** Runs it. undefined if the memory has no room for it, and from then on. */
  async run(inputs: StepInputs, signal: AbortSignal | undefined): Promise<StepResult<O> | undefined> {
    if (this.#isFull) return undefined;
    try {
      this.#step ??= await this.#record();
      return await this.#step.run(inputs, { signal });
    } catch (error) {
      if (!OutOfMemoryError.is(error)) throw error;
      this.#isFull = true;
      this.dispose();
      return undefined;
    }
  }

  /** Gives the memory of the step back. A later run records it again. */
  dispose(): void {
    this.#step?.dispose();
    this.#step = undefined;
  }
}

/** The last hidden states of tokens, whose numbers each run gets. */
function hiddenOf(recorder: Recorder, network: Network, length: number, on: RecordedPass): Promise<StepTensor> {
  const rows = network.tables.map(({ table: { tensor } }, n) =>
    recorder.rows(tensor as FloatWeightLike | Int8Weight, recorder.numbers(String(n), length)),
  );
  return network.hidden(rows, length, on);
}

/** One way of tokens through a model, as a step records it. */
class RecordedPass implements Arithmetic<StepTensor> {
  readonly #recorder: Recorder;
  readonly #pass: TokenPass;

  constructor(recorder: Recorder, pass: TokenPass) {
    this.#recorder = recorder;
    this.#pass = pass;
  }

  add(a: StepTensor, b: StepTensor): StepTensor {
    return this.#recorder.add(a, b);
  }

  multiply(a: StepTensor, b: StepTensor): StepTensor {
    return this.#recorder.multiply(a, b);
  }

  scaled(x: StepTensor, factor: number): StepTensor {
    return this.#recorder.scale(x, factor);
  }

  softcapped(x: StepTensor, cap: number): StepTensor {
    return this.#recorder.softcap(x, cap);
  }

  activation(x: StepTensor, name: ActivationName | "tanh"): StepTensor {
    return this.#recorder.activation(x, NAMES[name]);
  }

  layerNorm(x: StepTensor, gain: Floats, bias: Floats | undefined, epsilon: number): StepTensor {
    return this.#recorder.layerNorm(x, gain, bias, { epsilon });
  }

  rmsNorm(x: StepTensor, gain: Floats, epsilon: number): StepTensor {
    return this.#recorder.rmsNorm(x, gain, { epsilon });
  }

  halves(x: StepTensor): readonly [StepTensor, StepTensor] {
    const half = x.width / 2;
    return [this.#recorder.columns(x, 0, half), this.#recorder.columns(x, half, x.width)];
  }

  linear(x: StepTensor, { tensor, layout }: Weight, bias: Floats | undefined): StepTensor {
    return this.#recorder.linear(x, tensor as FloatWeightLike | Int8Weight, bias, { weightLayout: layout });
  }

  attend({ name, layer, options }: AttentionPart, x: StepTensor, shared: AttentionCall): StepTensor {
    const headGain = this.#pass.headGain?.[name];
    const cache = this.#pass.caches.get(name)!;
    return this.#recorder.layer(layer, x, { ...options, ...shared, ...(headGain && { headGain }), cache });
  }

  note(x: StepTensor): StepTensor {
    return x;
  }
}
