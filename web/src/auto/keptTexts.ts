import type { Store } from "./host.js";

/** The name of our cache, and the folder of the addresses in it. They are names only; nothing is requested. */
const NAME = "headwise";
const FOLDER = "headwise-calibration";

/** For this process only, where there is no storage: Node. */
const inMemory = new Map<string, string>();

/**
 * Keeps texts between visits, in the Cache API: pages and workers have it wherever they have WebGPU, and see the same
 * texts. A browser may refuse it, or forget what is in it at any time. All errors mean that nothing is kept.
 */
export function keptTexts(): Store {
  const storage = storageOfThisRealm();
  if (!storage)
    return {
      read: (key) => Promise.resolve(inMemory.get(key)),
      write: (key, text) => Promise.resolve(void inMemory.set(key, text)),
    };
  const { caches, origin } = storage;
  const addressOf = (key: string) => `${origin}/${FOLDER}/${encodeURIComponent(key)}`;
  return {
    async read(key) {
      const response = await (await caches.open(NAME)).match(addressOf(key));
      return response?.text();
    },
    async write(key, text) {
      const cache = await caches.open(NAME);
      await cache.put(addressOf(key), new Response(text, { headers: { "Content-Type": "application/json" } }));
    },
  };
}

/** The Cache API of a page or a worker. Pages without an origin throw when it is read. */
function storageOfThisRealm(): { readonly caches: CacheStorage; readonly origin: string } | undefined {
  try {
    const { caches, location } = globalThis as Partial<Pick<typeof globalThis, "caches" | "location">>;
    return caches && location && { caches, origin: location.origin };
  } catch {
    return undefined;
  }
}
