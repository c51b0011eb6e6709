import type { Store } from "../calibration/host.js";

/** The name of our cache, and the start of the addresses in it. They are names only; nothing is requested. */
const NAME = "headwise";
const ADDRESS = "https://headwise.invalid/calibration/";

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
  const addressOf = (key: string) => ADDRESS + encodeURIComponent(key);
  return {
    async read(key) {
      const response = await (await storage.open(NAME)).match(addressOf(key));
      return response?.text();
    },
    async write(key, text) {
      const cache = await storage.open(NAME);
      await cache.put(addressOf(key), new Response(text, { headers: { "Content-Type": "application/json" } }));
    },
  };
}

/** The Cache API of a page or a worker. Pages without an origin throw when it is read. */
function storageOfThisRealm(): CacheStorage | undefined {
  try {
    const { caches, location } = globalThis as { readonly caches?: CacheStorage; readonly location?: object };
    return location && caches;
  } catch {
    return undefined;
  }
}
