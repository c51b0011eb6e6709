import type { KeptPair } from "../../engine/trainProtocol.js";
import type { KeptHistory } from "./history.js";

/** A training to go on from. */
export interface KeptTraining {
  readonly pair: KeptPair;
  readonly history: KeptHistory;
  /** Whether it goes on by itself. */
  readonly isRunning: boolean;
}

/** So many trainings of this visit are kept, each under what its models are made from. */
const MOST = 3;
const STORE = "trainings";
/** Only the latest training is kept for the next visit, under this name. A new form of it needs a new name. */
const LATEST = "latest, form 1";

const visit = new Map<string, KeptTraining>();

/** The training with these settings, of this visit or the last one before it. */
export async function keptTraining(key: string): Promise<KeptTraining | undefined> {
  const latest = visit.get(key);
  if (latest) return latest;
  const stored = await inStore<(KeptTraining & { readonly key: string }) | undefined>("readonly", (store) => store.get(LATEST)); // oxfmt-ignore
  return stored?.key === key ? stored : undefined;
}

export function keepTraining(key: string, kept: KeptTraining): void {
  visit.delete(key);
  visit.set(key, kept);
  for (const oldest of [...visit.keys()].slice(0, -MOST)) visit.delete(oldest);
  void inStore("readwrite", (store) => store.put({ key, ...kept }, LATEST));
}

export async function forgetTraining(key: string): Promise<void> {
  visit.delete(key);
  await inStore("readwrite", (store) => store.delete(LATEST));
}

/** Asks the browser's database. A browser that keeps nothing, as in a sandbox, gives undefined. */
async function inStore<T>(
  mode: IDBTransactionMode,
  ask: (store: IDBObjectStore) => IDBRequest,
): Promise<T | undefined> {
  try {
    const opening = indexedDB.open("headwise-lab", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    const database = await answer<IDBDatabase>(opening);
    try {
      return await answer<T>(ask(database.transaction(STORE, mode).objectStore(STORE)));
    } finally {
      database.close();
    }
  } catch {
    return undefined;
  }
}

function answer<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T);
    request.onerror = () => reject(request.error ?? new Error("the browser keeps nothing"));
  });
}
