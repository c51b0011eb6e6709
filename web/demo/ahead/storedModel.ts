import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";

import { toFloat16 } from "headwise";

import { modelFiles } from "../cli/modelFiles.js";
import { unzipped } from "../model/unzipped.js";
import { Weights, type GraphModel, type ModelFiles, type WeightsGroup } from "../model/weights.js";

/** A part of the weights before compression. Parts are loaded side by side, and each can be tried again. */
const PART_BYTES = 2 ** 22;

/**
 * Writes the model for the page: weights as float16, compressed. `model.json` has TensorFlow.js's own notation for
 * weights in another type, without the graph. float16 halves the download; int8 with a scale for each row would halve
 * it again, but it changed weights of attention by up to 7 percentage points.
 */
export async function storeModel(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { weightsManifest } = JSON.parse(new TextDecoder().decode(await modelFiles("model.json"))) as GraphModel;
  const original = await Weights.read(modelFiles);
  const weights = weightsManifest
    .flatMap((group) => group.weights)
    .filter(({ dtype }) => dtype === "float32")
    .map(({ name, shape, dtype }) => ({ name, shape, dtype, quantization: { dtype: "float16" as const } }));
  const bytes = Buffer.concat(weights.map(({ name }) => bytesOf(toFloat16(original.get(name)))));

  const parts = Array.from({ length: Math.ceil(bytes.length / PART_BYTES) }, (_, part) =>
    gzipSync(bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES), { level: 9 }),
  );
  const paths = parts.map((_, part) => `weights-${part + 1}of${parts.length}`);
  const group: WeightsGroup = { paths, bytes: parts.map(({ length }) => length), weights };
  await writeFile(path.join(folder, "model.json"), JSON.stringify({ weightsManifest: [group] } satisfies GraphModel));
  await writeFile(path.join(folder, "vocab.json"), await modelFiles("vocab.json"));
  await Promise.all(parts.map((part, index) => writeFile(path.join(folder, paths[index]!), part)));
}

/** The files of a model that `storeModel` has written. */
export function storedFiles(folder: string): ModelFiles {
  return async (name, onBytes) => {
    const bytes = new Uint8Array(await readFile(path.join(folder, name)));
    onBytes?.(bytes.length);
    return unzipped(bytes);
  };
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint16Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
