/** Reads one file of the model by name. `onBytes` is called for every piece that arrives. */
export type ModelFiles = (name: string, onBytes?: (bytes: number) => void) => Promise<Uint8Array>;

/** Called with the loaded and total bytes of the weights, for a progress bar. */
export type ModelProgress = (loaded: number, total: number) => void;

interface GraphModel {
  readonly weightsManifest: readonly {
    readonly paths: readonly string[];
    readonly weights: readonly { readonly name: string; readonly shape: readonly number[]; readonly dtype: string }[];
  }[];
}

const ELEMENT_BYTES: Readonly<Record<string, number>> = { float32: 4, int32: 4, bool: 1 };

/**
 * The float weights of a TensorFlow.js graph model, by their names in the graph. The shards of a group are one stream
 * of bytes. They may be cut anywhere, so they are joined first.
 */
export class Weights {
  readonly #byName: ReadonlyMap<string, Float32Array>;

  private constructor(byName: ReadonlyMap<string, Float32Array>) {
    this.#byName = byName;
  }

  static async read(files: ModelFiles, onProgress: ModelProgress = () => {}): Promise<Weights> {
    const graph = JSON.parse(new TextDecoder().decode(await files("model.json"))) as GraphModel;
    const total = graph.weightsManifest.flatMap((group) => group.weights).reduce((sum, w) => sum + byteLength(w), 0);
    let loaded = 0;
    const count = (bytes: number) => onProgress((loaded += bytes), total);

    const byName = new Map<string, Float32Array>();
    for (const group of graph.weightsManifest) {
      const stream = joined(await Promise.all(group.paths.map((path) => files(path, count))));
      let offset = 0;
      for (const weight of group.weights) {
        const end = offset + byteLength(weight);
        if (end > stream.length) throw new Error(`model: the weights end inside ${weight.name}; a shard is cut short`);
        if (weight.dtype === "float32") byName.set(weight.name, new Float32Array(stream.slice(offset, end).buffer));
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

function byteLength({ name, shape, dtype }: { name: string; shape: readonly number[]; dtype: string }): number {
  const bytes = ELEMENT_BYTES[dtype];
  if (!bytes)
    throw new Error(`model: ${name} has dtype ${dtype}, expected one of ${Object.keys(ELEMENT_BYTES).join(", ")}`);
  return shape.reduce((product, size) => product * size, bytes);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
