import { createAttention } from "headwise";

import { Encoder } from "../model/encoder.js";
import type { ModelFiles } from "../model/weights.js";
import type { EncodeRequest, WorkerMessage } from "./protocol.js";

/** The slice of a worker's global scope that is used here; the DOM's types describe a window. */
interface WorkerScope {
  postMessage(message: WorkerMessage): void;
  onmessage: ((event: MessageEvent<EncodeRequest>) => void) | null;
}

const scope = self as unknown as WorkerScope;
const encoder = loadEncoder();
encoder.catch(fail);

scope.onmessage = ({ data }) => {
  encode(data).catch(fail);
};

async function loadEncoder(): Promise<Encoder> {
  const hw = await createAttention({ backend: "wasm" });
  const loaded = await Encoder.load(hw, modelFiles, (bytes, total) => {
    scope.postMessage({ kind: "progress", loaded: bytes, total });
  });
  scope.postMessage({ kind: "ready", report: hw.report });
  return loaded;
}

async function encode({ id, texts, positions }: EncodeRequest): Promise<void> {
  const ready = await encoder;
  const start = performance.now();
  const encodings = [];
  for (const text of texts) encodings.push(await ready.encode(text, { positions }));
  scope.postMessage({ kind: "encoded", id, encodings, milliseconds: performance.now() - start });
}

function fail(error: unknown): void {
  scope.postMessage({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
}

const modelFiles: ModelFiles = async (name, onBytes) => {
  const response = await fetch(new URL(`./model/${name}`, import.meta.url));
  if (!response.ok || !response.body) throw new Error(`cannot load ${response.url}: status ${response.status}`);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    chunks.push(value);
    onBytes?.(value.length);
  }
};
