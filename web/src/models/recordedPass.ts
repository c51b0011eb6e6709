import type { KvCache } from "../cache/kvCache.js";
import { OutOfMemoryError } from "../errors/errors.js";
import type { Attention } from "../instance/attention.js";
import type { Recorder } from "../step/recorder.js";
import type { Step, StepInputs } from "../step/step.js";
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

/**
 * The network for one token at a time, as one call of the engine. The first token records it. The network's layers and caches
 * must lie on wasm.
 */
export class TokenSteps {
  readonly #record: () => Promise<Step<{ logits: StepTensor }>>;
  readonly #network: Network;
  #step: Step<{ logits: StepTensor }> | undefined;
  #isFull = false;

  constructor(hw: Attention, network: Network, logits: Linear, pass: TokenPass) {
    this.#network = network;
    this.#record = () => hw.record((recorder) => recorded(recorder, network, logits, pass));
  }

  /** Bytes of the step, if it was recorded. */
  get bytes(): number | undefined {
    return this.#step?.bytes;
  }

  /**
   * The scores after a token, which stands at position `start`. undefined if the memory has no room for a step, and from then
   * on: in a worker it has copies of all weights.
   */
  async scores(token: TokenBatch, start: number, signal: AbortSignal | undefined): Promise<Float32Array | undefined> {
    if (this.#isFull) return undefined;
    const inputs = this.#network.tables.map(({ numbers }, n) => [String(n), numbers(token, start).data]);
    try {
      this.#step ??= await this.#record();
      const { logits } = await this.#step.run(Object.fromEntries(inputs) as StepInputs, { signal });
      return logits.data;
    } catch (error) {
      if (!OutOfMemoryError.is(error)) throw error;
      this.#isFull = true;
      this.dispose();
      return undefined;
    }
  }

  /** Gives the memory of the step back. A later token records it again. */
  dispose(): void {
    this.#step?.dispose();
    this.#step = undefined;
  }
}

async function recorded(recorder: Recorder, network: Network, logits: Linear, pass: TokenPass) {
  const rows = network.tables.map(({ table: { tensor } }, n) =>
    recorder.rows(tensor as FloatWeightLike | Int8Weight, recorder.numbers(String(n))),
  );
  const on = new RecordedPass(recorder, pass);
  return { logits: await logits(await network.hidden(rows, 1, on), on) };
}

/** One way of a token through a model, as a step records it. */
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
