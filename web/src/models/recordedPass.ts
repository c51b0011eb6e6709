import type { KvCache } from "../cache/kvCache.js";
import type { Recorder } from "../step/recorder.js";
import type { StepActivation } from "../step/stepProblem.js";
import type { StepTensor } from "../step/stepTensor.js";
import type { Floats } from "../tensor/plainTensor.js";
import type { Arithmetic, Weight } from "./arithmetic.js";
import type { AttentionCall, AttentionPart } from "./attentionPart.js";
import type { PassOptions } from "./pass.js";

/** What a token needs to go through a model: caches by the names of layers, and factors of heads. */
export interface TokenPass extends Pick<PassOptions, "headGain"> {
  readonly caches: ReadonlyMap<string, KvCache>;
}

/** One way of tokens through a model, as a step records it. */
export class RecordedPass implements Arithmetic<StepTensor> {
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

  activation(x: StepTensor, name: StepActivation): StepTensor {
    return this.#recorder.activation(x, name);
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

  linear(x: StepTensor, { tensor, layout, noBias }: Weight, bias = noBias): StepTensor {
    return this.#recorder.linear(x, tensor, bias, { weightLayout: layout });
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
