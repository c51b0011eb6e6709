import type { KvCache } from "../cache/kvCache.js";
import type { Attention } from "../instance/attention.js";
import type { Recorder } from "../step/recorder.js";
import type { Step } from "../step/step.js";
import type { StepActivation } from "../step/stepProblem.js";
import type { StepTensor } from "../step/stepTensor.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { FloatWeightLike } from "../tensor/tensor.js";
import type { Int8Weight } from "../linear/weight.js";
import type { ActivationName } from "./activations.js";
import type { Arithmetic, Weight } from "./arithmetic.js";
import type { Network } from "./network.js";
import type { AttentionCall, AttentionPart, Linear } from "./parts.js";
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
export interface TokenPass {
  readonly caches: ReadonlyMap<string, KvCache>;
  readonly headGain: PassOptions["headGain"];
}

/** The network for one token at a time, as one call of the engine. */
export class TokenStep {
  readonly #network: Network;
  readonly #step: Step<{ logits: StepTensor }>;

  private constructor(network: Network, step: Step<{ logits: StepTensor }>) {
    this.#network = network;
    this.#step = step;
  }

  /** Records the network. Its layers and caches must lie on wasm, in the memory of this thread. */
  static async record(hw: Attention, network: Network, logits: Linear, pass: TokenPass): Promise<TokenStep> {
    const step = await hw.record(async (recorder) => {
      const rows = network.tables.map(({ table: { tensor } }, n) =>
        recorder.rows(tensor as FloatWeightLike | Int8Weight, recorder.numbers(String(n))),
      );
      const on = new RecordedPass(recorder, pass);
      return { logits: await logits(await network.hidden(rows, 1, on), on) };
    });
    return new TokenStep(network, step);
  }

  /** The scores after a token, which stands at position `start`. */
  async run(token: TokenBatch, start: number, signal: AbortSignal | undefined): Promise<Float32Array> {
    const inputs = this.#network.tables.map(({ numbers }, n) => [String(n), numbers(token, start).data]);
    return (await this.#step.run(Object.fromEntries(inputs) as Record<string, Int32Array>, { signal })).logits.data;
  }

  dispose(): void {
    this.#step.dispose();
  }
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
