import { toFloat32 } from "headwise";

/** Reads one file of the model by name. `onBytes` is called for every piece that arrives. */
export type ModelFiles = (name: string, onBytes?: (bytes: number) => void) => Promise<Uint8Array>;

/** Called with the loaded and total bytes of the weights, for a progress bar. */
export type ModelProgress = (loaded: number, total: number) => void;

/** The part of a TensorFlow.js `model.json` that says where the weights are. */
export interface GraphModel {
  readonly weightsManifest: readonly WeightsGroup[];
}
export interface WeightsGroup {
  readonly paths: readonly string[];
  /** The size of each file as it is stored. Only `ahead/storedModel.ts` writes it, because its files are compressed. */
  readonly bytes?: readonly number[];
  readonly weights: readonly WeightEntry[];
}
export interface WeightEntry {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  /** The type of the stored numbers, if it is not `dtype`. */
  readonly quantization?: { readonly dtype: "float16" };
}

const ELEMENT_BYTES: Readonly<Record<string, number>> = { float32: 4, float16: 2, int32: 4, bool: 1 };

/**
 * The float weights of a TensorFlow.js graph model, by their names in the graph. The shards of a group are one stream
 * of bytes, which may be cut anywhere. The weights are views of the shards.
 */
export class Weights {
  readonly #byName: ReadonlyMap<string, Float32Array>;

  private constructor(byName: ReadonlyMap<string, Float32Array>) {
    this.#byName = byName;
  }

  static async read(files: ModelFiles, onProgress: ModelProgress = () => {}): Promise<Weights> {
    const graph = JSON.parse(new TextDecoder().decode(await files("model.json"))) as GraphModel;
    const total = graph.weightsManifest.flatMap(sizesOf).reduce((sum, size) => sum + size, 0);
    let loaded = 0;
    const count = (bytes: number) => onProgress((loaded += bytes), total);

    const byName = new Map<string, Float32Array>();
    for (const group of graph.weightsManifest) {
      const shards = await Promise.all(group.paths.map((path) => files(path, count)));
      const length = shards.reduce((sum, shard) => sum + shard.length, 0);
      let offset = 0;
      for (const weight of group.weights) {
        const end = offset + byteLength(weight);
        if (end > length) throw new Error(`model: the weights end inside ${weight.name}; a shard is cut short`);
        if (weight.dtype === "float32") byName.set(weight.name, numbers(part(shards, offset, end), weight));
        offset = end;
      }
    }
    return new Weights(byName);
  }

  get(name: string): Float32Array {
    const values = this.#byName.get(name);
    if (!values) throw new Error(`model: no weight named ${name}`);
    return values;
  }
}

function sizesOf({ bytes, weights }: WeightsGroup): readonly number[] {
  return bytes ?? weights.map(byteLength);
}

function byteLength({ name, shape, dtype, quantization }: WeightEntry): number {
  const stored = quantization?.dtype ?? dtype;
  const bytes = ELEMENT_BYTES[stored];
  if (!bytes)
    throw new Error(`model: ${name} has dtype ${stored}, expected one of ${Object.keys(ELEMENT_BYTES).join(", ")}`);
  return shape.reduce((product, size) => product * size, bytes);
}

function numbers({ buffer, byteOffset, byteLength }: Uint8Array, { quantization }: WeightEntry): Float32Array {
  if (quantization) return toFloat32(new Uint16Array(buffer as ArrayBuffer, byteOffset, byteLength / 2));
  return new Float32Array(buffer as ArrayBuffer, byteOffset, byteLength / 4);
}

/** A part of the stream, copied only if it lies in two shards or does not begin at a multiple of four bytes. */
function part(shards: readonly Uint8Array[], begin: number, end: number): Uint8Array {
  let start = 0;
  const pieces = shards.map((shard) => {
    const piece = shard.subarray(Math.max(begin - start, 0), Math.max(end - start, 0));
    start += shard.length;
    return piece;
  });
  const whole = pieces.find(({ length, byteOffset }) => length === end - begin && byteOffset % 4 === 0);
  return whole ?? joined(pieces);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    all.set(piece, offset);
    offset += piece.length;
  }
  return all;
}
