import type { Attention } from "../instance/attention.js";
import type { ForwardOptions } from "../layer/forwardProblem.js";
import type { Layer } from "../layer/layer.js";
import type { LayerOptions } from "../layer/layerProblem.js";
import type { LayerWeights } from "../layer/layerWeights.js";
import type { WeightLayout } from "../linear/linearProblem.js";
import type { TypedTensor } from "../tensor/tensor.js";
import { layerNorm } from "../train/layerNorm.js";
import type { Floats } from "../tensor/plainTensor.js";
import { matrixOf, place, rowsOf, type Matrix, type Placed, type RowNumbers } from "./matrix.js";
import { rmsNorm } from "./rmsNorm.js";
import { converted, newData, type WeightData, type WeightDtype } from "./storedNumbers.js";
import type { FileTensor, LoadProgress, TensorFiles } from "./tensorFiles.js";

/** How weights are kept: as the files have them, or in another dtype. */
export type Precision = "as-stored" | WeightDtype;

/** A norm of the last axis. */
export type Norm = (x: Floats) => Floats;

/** A linear map. */
export type Linear = (x: Floats) => Promise<Floats>;

/** The widths of a linear map. */
interface Widths {
  readonly from: number;
  readonly to: number;
}

/** A table of rows: an embedding. */
export interface Table {
  /** The rows of these numbers: `[…, width]` from `[…]`. */
  readonly rows: (numbers: RowNumbers) => Floats;
  /** The map x · tableᵀ + bias, which gives a score for each row of the table. */
  readonly transposed: (bias?: () => Floats) => Linear;
}

/** The options of a call of forward, without those about its results. */
export type AttentionCall = Omit<ForwardOptions, "returns" | "into" | "location" | "save">;

/** An attention layer of a model. */
export interface AttentionPart {
  /** Its name in transformers, for hooks. */
  readonly name: string;
  /** The layer. It is there once the weights are loaded. */
  readonly layer: Layer;
  /** What the model gives to every call of the layer: causal, window, scale. */
  readonly options: AttentionCall;
}

/** The name of a tensor in the files, and its shape. */
export type Wanted = readonly [name: string, shape: readonly number[]];

/** What the memory of a part is given back with. */
interface Held {
  readonly bytes: number;
  dispose(): void;
}

/** Reads a tensor of the files into an array, piece by piece. */
type Read = (tensor: FileTensor, dtype: WeightDtype, into: () => WeightData) => Promise<void>;

/**
 * Makes the parts of a model. A part is made in two steps: first the names, shapes and dtypes of its weights are checked,
 * without reading them; `load` then reads the weights of all parts, in order. So a model that does not fit its files is
 * refused before any weight is read.
 */
export class Parts {
  readonly #hw: Attention;
  readonly #files: TensorFiles;
  readonly #precision: Precision;
  readonly #tensors: FileTensor[] = [];
  readonly #loads: ((read: Read) => Promise<void>)[] = [];
  readonly #held: Held[] = [];

  constructor(hw: Attention, files: TensorFiles, precision: Precision) {
    this.#hw = hw;
    this.#files = files;
    this.#precision = precision;
  }

  /** Whether the files have a tensor. */
  has(name: string): boolean {
    return this.#files.has(name);
  }

  /** `prefix` if names in the files begin with it, otherwise nothing: files of a model without a head lack it. */
  prefix(prefix: string): string {
    return this.#files.hasUnder(prefix) ? prefix : "";
  }

  /** A vector of float32. */
  vector(name: string, width: number): () => Floats {
    const tensor = this.#claim([name, [width]]);
    const data = new Float32Array(width);
    this.#loads.push(async (read) => {
      await read(tensor, "float32", () => data);
      this.#hold({ bytes: data.byteLength, dispose: () => undefined });
    });
    return () => ({ data, shape: [width] });
  }

  /** Layer norm, with `name.weight` and `name.bias`. Older files call them gamma and beta. */
  layerNorm(name: string, width: number, epsilon: number): Norm {
    const isOld = this.has(`${name}.gamma`);
    const gain = this.vector(`${name}.${isOld ? "gamma" : "weight"}`, width);
    const bias = this.vector(`${name}.${isOld ? "beta" : "bias"}`, width);
    return (x) => layerNorm(x, gain(), bias(), { epsilon });
  }

  /** RMS norm, with `name.weight`. */
  rmsNorm(name: string, width: number, epsilon: number): Norm {
    const gain = this.vector(`${name}.weight`, width);
    return (x) => rmsNorm(x, gain().data, epsilon);
  }

  /** A linear map as PyTorch stores it: `name.weight` [out, in], and `name.bias` if `hasBias` is true. */
  linear(name: string, { from, to }: Widths, hasBias: boolean): Linear {
    return this.#linear(name, [to, from], hasBias ? to : 0, "out-in");
  }

  /** A head: a linear map without a bias; undefined if the files lack it. */
  linearIfThere(name: string, widths: Widths): Linear | undefined {
    return this.has(`${name}.weight`) ? this.linear(name, widths, false) : undefined;
  }

  /** A linear map as GPT-2 stores it: `name.weight` [in, out], and `name.bias`. */
  conv1d(name: string, { from, to }: Widths): Linear {
    return this.#linear(name, [from, to], to, "in-out");
  }

  #linear(name: string, shape: readonly number[], biasWidth: number, weightLayout: WeightLayout): Linear {
    const weight = this.#placed(this.#matrix([`${name}.weight`, shape]), weightLayout);
    const bias = biasWidth > 0 ? this.vector(`${name}.bias`, biasWidth) : undefined;
    return (x) => weight(x, bias?.());
  }

  /** A table of rows, with `name.weight`. */
  table(name: string, shape: readonly [rows: number, width: number]): Table {
    const matrix = this.#matrix([`${name}.weight`, shape]);
    return {
      rows: (numbers) => rowsOf(matrix().tensor, numbers),
      transposed: (bias) => {
        const scores = this.#placed(matrix, "out-in");
        return (x) => scores(x, bias?.());
      },
    };
  }

  /**
   * An attention layer.
   *
   * @param weights - The tensors of its weights, by the names of `LayerWeights`.
   * @param layerOptions - The other options of `multiHeadAttention`. They may use vectors that were wanted before.
   * @param options - The options of every call of forward.
   */
  attention(
    name: string,
    weights: { readonly [Name in keyof LayerWeights]: Wanted },
    layerOptions: () => Omit<LayerOptions, "weights">,
    options: AttentionCall,
  ): AttentionPart {
    const tensors = Object.entries<Wanted>(weights).map(([key, each]) => [key, this.#claim(each)] as const);
    let layer: Layer | undefined;
    this.#loads.push(async (read) => {
      const loaded: Record<string, TypedTensor<WeightDtype>> = {};
      for (const [key, tensor] of tensors) {
        const dtype = this.#dtypeOf(tensor);
        const data = newData(dtype, tensor.shape);
        await read(tensor, dtype, () => data);
        loaded[key] = { data, shape: tensor.shape, dtype };
      }
      // the model's other matrices lie in the engine of this name; with backend "auto" there is a second engine
      const placement = this.#hw.report.backend;
      layer = await this.#hw.multiHeadAttention({ ...layerOptions(), weights: loaded, placement });
      this.#hold(layer);
    });
    return {
      name,
      options,
      get layer() {
        return layer!;
      },
    };
  }

  /** Reads all weights, in the order in which their parts were made. After an error call `dispose`. */
  async load(onProgress: ((progress: LoadProgress) => void) | undefined, signal?: AbortSignal): Promise<void> {
    const totalBytes = this.#tensors.reduce((total, { numBytes }) => total + numBytes, 0);
    let loadedBytes = 0;
    const read: Read = async (tensor, dtype, into) => {
      for await (const { bytes, at } of this.#files.pieces(tensor, signal)) {
        into().set(converted(tensor.dtype, bytes, dtype), at);
        loadedBytes += bytes.length;
        onProgress?.({ loadedBytes, totalBytes, tensor: tensor.name });
      }
    };
    for (const load of this.#loads) await load(read);
  }

  /** Bytes of all weights, as they are kept. */
  get bytes(): number {
    return this.#held.reduce((total, { bytes }) => total + bytes, 0);
  }

  /** Gives the memory of all weights back. A second call does nothing. */
  dispose(): void {
    for (const held of this.#held.splice(0)) held.dispose();
  }

  /** A matrix that JavaScript can read. It is there once it is loaded. */
  #matrix(wanted: Wanted): () => Matrix {
    const tensor = this.#claim(wanted);
    let matrix: Matrix | undefined;
    this.#loads.push(async (read) => {
      const made = matrixOf(this.#hw, tensor.shape, this.#dtypeOf(tensor));
      matrix = made;
      this.#hold(made);
      await read(tensor, made.tensor.dtype, () => made.tensor.data as WeightData);
    });
    return () => matrix!;
  }

  /** The product with a matrix. */
  #placed(matrix: () => Matrix, weightLayout: WeightLayout): (x: Floats, bias: Floats | undefined) => Promise<Floats> {
    let placed: Placed | undefined;
    this.#loads.push(async () => {
      placed = await place(this.#hw, matrix());
      if (placed !== matrix()) this.#hold(placed);
    });
    return (x, bias) => this.#hw.linear(x, placed!.tensor, bias, { weightLayout });
  }

  /** Matrices have the precision that was asked for. Vectors are float32. */
  #dtypeOf({ shape, dtype }: FileTensor): WeightDtype {
    if (shape.length === 1) return "float32";
    if (this.#precision !== "as-stored") return this.#precision;
    return dtype === "F16" ? "float16" : "float32";
  }

  #claim([name, shape]: Wanted): FileTensor {
    const tensor = this.#files.tensor(name, shape);
    this.#tensors.push(tensor);
    return tensor;
  }

  #hold(held: Held): void {
    this.#held.push(held);
  }
}
