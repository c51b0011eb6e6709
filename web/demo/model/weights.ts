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

/** Where the numbers of one weight lie in the shards of its group. */
interface Place {
  readonly entry: WeightEntry;
  readonly shards: readonly Uint8Array[];
  readonly begin: number;
}

/**
 * The float weights of a TensorFlow.js graph model, by their names in the graph. The shards of a group are one stream
 * of bytes, which may be cut anywhere. What is asked for is a view of a shard, or a copy if it lies in two.
 */
export class Weights {
  readonly #places: ReadonlyMap<string, Place>;

  private constructor(places: ReadonlyMap<string, Place>) {
    this.#places = places;
  }

  static async read(files: ModelFiles, onProgress: ModelProgress = () => {}): Promise<Weights> {
    const graph = JSON.parse(new TextDecoder().decode(await files("model.json"))) as GraphModel;
    const total = graph.weightsManifest.flatMap(sizesOf).reduce((sum, size) => sum + size, 0);
    let loaded = 0;
    const count = (bytes: number) => onProgress((loaded += bytes), total);

    const places = new Map<string, Place>();
    for (const group of graph.weightsManifest) {
      const shards = await Promise.all(group.paths.map((path) => files(path, count)));
      const length = shards.reduce((sum, shard) => sum + shard.length, 0);
      let begin = 0;
      for (const entry of group.weights) {
        const end = begin + byteLength(entry);
        if (end > length) throw new Error(`model: the weights end inside ${entry.name}; a shard is cut short`);
        if (entry.dtype === "float32") places.set(entry.name, { entry, shards, begin });
        begin = end;
      }
    }
    return new Weights(places);
  }

  get(name: string): Float32Array {
    const place = this.#place(name);
    return numbers(place, 0, elements(place.entry));
  }

  /** Some rows of a matrix [rows, columns], one after the other. The rest of the matrix is not read. */
  rows(name: string, indices: readonly number[]): Float32Array {
    const place = this.#place(name);
    const columns = place.entry.shape.at(-1)!;
    const chosen = new Float32Array(indices.length * columns);
    indices.forEach((row, n) => chosen.set(numbers(place, row * columns, columns), n * columns));
    return chosen;
  }

  #place(name: string): Place {
    const place = this.#places.get(name);
    if (!place) throw new Error(`model: no weight named ${name}`);
    return place;
  }
}

function sizesOf({ bytes, weights }: WeightsGroup): readonly number[] {
  return bytes ?? weights.map(byteLength);
}

const elements = ({ shape }: WeightEntry) => shape.reduce((product, size) => product * size, 1);
const byteLength = (entry: WeightEntry) => elements(entry) * elementBytes(entry);

function elementBytes({ name, dtype, quantization }: WeightEntry): number {
  const stored = quantization?.dtype ?? dtype;
  const bytes = ELEMENT_BYTES[stored];
  if (!bytes)
    throw new Error(`model: ${name} has dtype ${stored}, expected one of ${Object.keys(ELEMENT_BYTES).join(", ")}`);
  return bytes;
}

/** `count` numbers of a weight, from the `first` on. */
function numbers({ entry, shards, begin }: Place, first: number, count: number): Float32Array {
  const bytes = elementBytes(entry);
  const from = begin + first * bytes;
  const { buffer, byteOffset } = part(shards, from, from + count * bytes, bytes);
  if (entry.quantization) return toFloat32(new Uint16Array(buffer as ArrayBuffer, byteOffset, count));
  return new Float32Array(buffer as ArrayBuffer, byteOffset, count);
}

/** A part of the stream, copied only if it lies in two shards or does not begin at a multiple of an element's bytes. */
function part(shards: readonly Uint8Array[], begin: number, end: number, elementBytes: number): Uint8Array {
  let start = 0;
  const pieces = shards.map((shard) => {
    const piece = shard.subarray(Math.max(begin - start, 0), Math.max(end - start, 0));
    start += shard.length;
    return piece;
  });
  const whole = pieces.find(({ length, byteOffset }) => length === end - begin && byteOffset % elementBytes === 0);
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
