import type { Attention } from "../instance/attention.js";
import type { Layer } from "../layer/layer.js";
import type { LayerOptions } from "../layer/layerProblem.js";
import type { LayerWeights } from "../layer/layerWeights.js";
import type { WeightDtype, WeightLayout } from "../linear/weight.js";
import { throwIfAborted } from "../read/abort.js";
import type { Floats } from "../tensor/plainTensor.js";
import { product } from "../tensor/product.js";
import type { TypedTensor } from "../tensor/tensor.js";
import { widened } from "../train/storedFloats.js";
import type { Eventually } from "../turn/context.js";
import type { Arithmetic, Weight } from "./arithmetic.js";
import type { AttentionCall, AttentionPart } from "./attentionPart.js";
import {
  fillRows,
  keptLayout,
  matrixOf,
  noBiasOf,
  place,
  rowsOf,
  type Matrix,
  type NewMatrix,
  type RowNumbers,
} from "./matrix.js";
import {
  givenDtype,
  layerBytes,
  matrixBytes,
  sumOf,
  vectorBytes,
  type LayerWidths,
  type ModelBytes,
  type PartBytes,
} from "./partBytes.js";
import { converted, DTYPES, newData, type WeightData } from "./storedNumbers.js";
import type { FileTensor, LoadProgress, Piece, TensorFiles } from "./tensorFiles.js";

/** How weights are kept: as the files have them, or in another dtype. */
export type Precision = "as-stored" | WeightDtype;

/** A norm of the last axis. */
export type Norm = <T>(x: T, on: Arithmetic<T>) => T;

/** A linear map. */
export type Linear = <T>(x: T, on: Arithmetic<T>) => Eventually<T>;

/** The widths of a linear map. */
interface Widths {
  readonly from: number;
  readonly to: number;
}

/** A table of rows: an embedding. */
export interface Table {
  /** The rows of these numbers: `[…, width]` from `[…]`. */
  readonly rows: (numbers: RowNumbers) => Floats;
  /** The table. It is there once the weights are loaded. */
  readonly tensor: Matrix["tensor"];
  /** The map x · tableᵀ + bias, which gives a score for each row of the table. */
  readonly transposed: (bias?: () => Floats) => Linear;
}

/** The name of a tensor in the files, and its shape. `row` says where a layer wants each of its rows. */
export type Wanted = readonly [name: string, shape: readonly number[], row?: (row: number) => number];

/** What the memory of a part is given back with. */
interface Held {
  readonly bytes: number;
  dispose(): void;
}

/** A matrix. It is there once it is loaded, until it is moved to the GPU. */
interface Loaded {
  matrix: Matrix | undefined;
  /** What the matrix was made from. */
  wanted: NewMatrix | undefined;
  /** Whether it is only a table of rows: nothing is multiplied with it. */
  isTable: boolean;
}

/** Reads the next tensor of the files, in the order of all: calls `use` with each of its pieces, or once with all of it. */
type Read = (tensor: FileTensor, use: (piece: Piece) => void) => Promise<void>;

/** Where the weights of parts go. */
interface Target {
  readonly hw: Attention;
  readonly precision: Precision;
  readonly read: Read;
}

/** How a model would be kept. */
interface Keeping {
  readonly precision: Precision;
  /** Whether matrices lie in the memory of the instance. */
  readonly isInInstance: boolean;
  /** Whether matrices of floats that are multiplied are kept in panels. */
  readonly hasPanels: boolean;
}

/** The precisions that may be chosen. */
export const PRECISIONS: readonly Precision[] = ["as-stored", "float32", "float16", "bfloat16", "int8"];

/**
 * Makes the parts of a model. A part is made in two steps: first the names, shapes and dtypes of its weights are checked,
 * without reading them; `load` then reads the weights of all parts, in order. So a model that does not fit its files is
 * refused before any weight is read.
 */
export class Parts {
  readonly #files: TensorFiles;
  readonly #tensors: FileTensor[] = [];
  /** Matrices with a row for each input. */
  readonly #inOut = new Set<FileTensor>();
  readonly #sizes: ((keeping: Keeping) => PartBytes)[] = [];
  readonly #loads: ((target: Target) => Promise<void>)[] = [];
  readonly #held = new Set<Held>();
  readonly #same: (readonly [string, string])[] = [];
  readonly #scratches = new Map<string, WeightData>();

  constructor(files: TensorFiles) {
    this.#files = files;
  }

  /** The tensors that the parts read. */
  get tensors(): readonly FileTensor[] {
    return this.#tensors;
  }

  /** Bytes that all parts would need. */
  bytesWith(keeping: Keeping): ModelBytes {
    return sumOf(this.#sizes.map((size) => size(keeping)));
  }

  /** Whether any name of a tensor is known: neither the weights nor a list of them may be there. */
  get knowsNames(): boolean {
    return this.#files.names.length > 0;
  }

  /** Whether the files have a tensor. */
  has(name: string): boolean {
    return this.#files.has(name);
  }

  /** `prefix` if names in the files begin with it, otherwise nothing: files of a model without a head lack it. */
  prefix(prefix: string): string {
    return this.#files.hasUnder(prefix) ? prefix : "";
  }

  /**
   * A vector of float32.
   *
   * @param plus - What is added to its numbers.
   */
  vector(name: string, width: number, plus = 0): () => Floats {
    const tensor = this.#claim([name, [width]]);
    let data: Float32Array<ArrayBuffer>;
    this.#sizes.push(() => vectorBytes(width));
    this.#loads.push(async ({ read }) => {
      data = new Float32Array(width);
      await read(tensor, ({ bytes, at }) => data.set(widened(tensor.dtype, bytes), at));
      if (plus !== 0) data.forEach((number, n) => (data[n] = number + plus));
      this.#held.add({ bytes: data.byteLength, dispose: () => undefined });
    });
    return () => ({ data, shape: [width] });
  }

  /** Layer norm, with `name.weight` and `name.bias`. Older files call them gamma and beta. */
  layerNorm(name: string, width: number, epsilon: number, hasBias = true): Norm {
    const isOld = this.has(`${name}.gamma`);
    const gain = this.vector(`${name}.${isOld ? "gamma" : "weight"}`, width);
    const bias = hasBias ? this.vector(`${name}.${isOld ? "beta" : "bias"}`, width) : undefined;
    return (x, on) => on.layerNorm(x, gain(), bias?.(), epsilon);
  }

  /** RMS norm, with `name.weight`, to which `plus` is added. */
  rmsNorm(name: string, width: number, epsilon: number, plus?: number): Norm {
    const gain = this.vector(`${name}.weight`, width, plus);
    return (x, on) => on.rmsNorm(x, gain(), epsilon);
  }

  /**
   * A linear map, with `name.weight`: `[out, in]` as PyTorch stores it, or `[in, out]` as GPT-2 does.
   *
   * @param bias - Whether it has `name.bias`, or another vector.
   */
  linear(name: string, { from, to }: Widths, bias: boolean | (() => Floats), stored: WeightLayout = "out-in"): Linear {
    const shift = bias === true ? this.vector(`${name}.bias`, to) : bias || undefined;
    const weight = this.#product(
      this.#matrix(`${name}.weight`, stored === "out-in" ? [to, from] : [from, to], stored),
      "moved",
    );
    return (x, on) => on.linear(x, weight(), shift?.());
  }

  /** Two names of one table. If the files have both, `load` refuses those that do not hold the same. */
  sameTable(...names: readonly [string, string]): void {
    const [first, second] = [`${names[0]}.weight`, `${names[1]}.weight`];
    if (this.has(first) && this.has(second)) this.#same.push([first, second]);
  }

  /** A table of rows, with `name.weight`. */
  table(name: string, shape: readonly [rows: number, width: number]): Table {
    const table = this.#matrix(`${name}.weight`, shape, "out-in");
    return {
      rows: (numbers) => rowsOf(table.matrix!.tensor, numbers),
      get tensor() {
        return table.matrix!.tensor;
      },
      transposed: (bias) => {
        const scores = this.#product(table, "kept");
        return (x, on) => on.linear(x, scores(), bias?.());
      },
    };
  }

  /**
   * An attention layer.
   *
   * @param weights - The tensors of its weights, by the names of `LayerWeights`.
   * @param widths - What it will keep.
   * @param layerOptions - The other options of `multiHeadAttention`. They may use vectors that were wanted before.
   * @param options - The options of every call of forward.
   */
  attention(
    name: string,
    weights: { readonly [Name in keyof LayerWeights]: Wanted },
    widths: LayerWidths,
    layerOptions: () => Omit<LayerOptions, "weights">,
    options: AttentionCall,
  ): AttentionPart {
    const tensors = Object.entries<Wanted>(weights).map(([key, each]) => [key, this.#claim(each), each[2]] as const);
    const all = tensors.map(([, tensor]) => tensor);
    this.#sizes.push(({ precision }) => layerBytes(widths, all, layerDtypeOf(all, precision)));
    let layer: Layer | undefined;
    this.#loads.push(async ({ hw, precision, read }) => {
      const weightDtype = layerDtypeOf(all, precision);
      const loaded: Record<string, TypedTensor<WeightDtype>> = {};
      for (const [key, tensor, row] of tensors) {
        const dtype = givenDtype(tensor.shape, weightDtype);
        const data = this.#scratch(key, dtype, tensor);
        await read(tensor, ({ bytes, at }) => setRows(data, converted(tensor.dtype, bytes, dtype), at, tensor, row));
        loaded[key] = { data, shape: tensor.shape, dtype };
      }
      // the model's other matrices lie in the engine of this name; with backend "auto" there is a second engine
      const placement = hw.report.backend;
      layer = await hw.multiHeadAttention({ ...layerOptions(), weights: loaded, weightDtype, placement });
      this.#held.add(layer);
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
  async load(
    hw: Attention,
    precision: Precision,
    onProgress: ((progress: LoadProgress) => void) | undefined,
    signal?: AbortSignal,
  ): Promise<void> {
    for (const names of this.#same) await this.#files.assertSame(...names);
    const totalBytes = this.#tensors.reduce((total, { numBytes }) => total + numBytes, 0);
    let loadedBytes = 0;
    // in int8 the scale of an output depends on all inputs
    const isWhole = (tensor: FileTensor) => precision === "int8" && this.#inOut.has(tensor);
    const wanted = this.#tensors.map((tensor) => ({ tensor, isWhole: isWhole(tensor) }));
    const pieces = this.#files.pieces(wanted, signal);
    const read: Read = async (tensor, use) => {
      for (let isLast = false; !isLast;) {
        const piece = (await pieces.next()).value!; // every tensor has numbers
        use(piece);
        loadedBytes += piece.bytes.length;
        onProgress?.({ loadedBytes, totalBytes, tensor: tensor.name });
        ({ isLast } = piece);
      }
    };
    for (const load of this.#loads) await load({ hw, precision, read });
    throwIfAborted(signal);
    this.#scratches.clear();
  }

  /** Bytes of all weights, as they are kept. */
  get bytes(): number {
    return [...this.#held].reduce((total, { bytes }) => total + bytes, 0);
  }

  /** Gives the memory of all weights back. A second call does nothing. */
  dispose(): void {
    for (const held of this.#held) held.dispose();
    this.#held.clear();
  }

  /**
   * A matrix that JavaScript can read.
   *
   * @param stored - How the files have it.
   */
  #matrix(name: string, shape: readonly [number, number], stored: WeightLayout): Loaded {
    const tensor = this.#claim([name, shape]);
    if (stored === "in-out") this.#inOut.add(tensor);
    const loaded: Loaded = { matrix: undefined, wanted: undefined, isTable: true };
    const outputs = shape[stored === "out-in" ? 0 : 1];
    this.#sizes.push(({ precision, isInInstance, hasPanels }) =>
      matrixBytes(tensor, dtypeOf(tensor, precision), outputs, {
        isInInstance,
        hasPanels: hasPanels && !loaded.isTable,
      }),
    );
    this.#loads.push(async ({ hw, precision, read }) => {
      const dtype = dtypeOf(tensor, precision);
      const layout = loaded.isTable ? stored : keptLayout(hw, dtype, stored);
      const wanted = { shape, stored, dtype, layout };
      const matrix = matrixOf(hw, wanted);
      Object.assign(loaded, { matrix, wanted });
      this.#held.add(matrix);
      await read(tensor, (piece) => fillRows(matrix, wanted, tensor, piece));
    });
    return loaded;
  }

  /**
   * The matrix of a product, which is placed where the engine reads it.
   *
   * @param original - What becomes of the matrix that JavaScript can read, if the placed one is another.
   */
  #product(loaded: Loaded, original: "kept" | "moved"): () => Weight {
    let weight: Weight;
    loaded.isTable = false;
    this.#loads.push(async ({ hw }) => {
      const matrix = loaded.matrix!;
      const { layout } = loaded.wanted!;
      const placed = await place(hw, matrix, layout);
      weight = { hw, tensor: placed.tensor, layout, noBias: noBiasOf(loaded.wanted!) };
      this.#held.add(placed);
      if (placed === matrix || original === "kept") return;
      this.#held.delete(matrix);
      loaded.matrix = undefined;
    });
    return () => weight;
  }

  /**
   * An array for a weight of an attention layer, on its way to the engine, which copies it. The layers share it: arrays of
   * each layer would pile up until they are collected.
   */
  #scratch(key: string, dtype: WeightDtype, { shape }: FileTensor): WeightData {
    const place = `${key} ${dtype} ${product(shape)}`;
    const data = this.#scratches.get(place) ?? newData(dtype, shape);
    this.#scratches.set(place, data);
    return data;
  }

  #claim([name, shape]: Wanted): FileTensor {
    const tensor = this.#files.tensor(name, shape);
    this.#tensors.push(tensor);
    return tensor;
  }
}

/** Puts a piece of a tensor, which has whole rows, where its rows belong. */
function setRows(
  data: WeightData,
  piece: WeightData,
  at: number,
  { shape }: FileTensor,
  row: ((row: number) => number) | undefined,
): void {
  if (!row) return data.set(piece, at);
  const width = shape[1] ?? 1;
  for (let n = 0; n < piece.length; n += width) data.set(piece.subarray(n, n + width), row((at + n) / width) * width);
}

/** The dtype of a matrix: the precision that was asked for. */
function dtypeOf({ dtype }: FileTensor, precision: Precision): WeightDtype {
  if (precision !== "as-stored") return precision;
  return DTYPES[dtype];
}

/** The dtype in which a layer keeps its matrices: float32 if they differ. */
function layerDtypeOf(tensors: readonly FileTensor[], precision: Precision): WeightDtype {
  const matrices = tensors.filter(({ shape }) => shape.length > 1);
  const dtypes = new Set(matrices.map((tensor) => dtypeOf(tensor, precision)));
  return dtypes.size === 1 ? [...dtypes][0]! : "float32";
}
