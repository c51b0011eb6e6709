import { unzipped } from "../../model/unzipped.js";
import type { ModelFiles } from "../../model/weights.js";
import { TroubleError } from "./trouble.js";

interface Arrived {
  readonly bytes: Uint8Array;
  /** The size of the file as it came. */
  readonly size: number;
}

/** The model's files over HTTP. A file that has arrived is kept, so that another try asks only for the others. */
export function filesAt(folder: URL): ModelFiles {
  const arrived = new Map<string, Promise<Arrived>>();
  return async (name, onBytes) => {
    const kept = arrived.get(name);
    if (kept) {
      const { bytes, size } = await kept;
      onBytes?.(size);
      return bytes;
    }
    const file = download(new URL(name, folder), name, onBytes);
    arrived.set(name, file);
    void file.catch(() => arrived.delete(name));
    return (await file).bytes;
  };
}

async function download(url: URL, name: string, onBytes: (bytes: number) => void = () => {}): Promise<Arrived> {
  const response = await fetch(url).catch((error: Error) => fail(name, error));
  if (!response.ok) throw new TroubleError({ kind: "file", of: "model", name, why: response.status });
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (const reader = response.body!.getReader(); ;) {
    const { done, value } = await reader.read().catch((error: Error) => fail(name, error));
    if (done) break;
    chunks.push(value);
    size += value.length;
    onBytes(value.length);
  }
  const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
  return { bytes: await unzipped(bytes).catch((error: Error) => fail(name, error)), size };
}

function fail(name: string, error: Error): never {
  throw new TroubleError({ kind: "file", of: "model", name, why: error.message });
}
