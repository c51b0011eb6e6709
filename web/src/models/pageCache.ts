import type { KeptBlocks, KeptFile } from "./keptBlocks.js";

/** The parameter that tells a block of a file in the cache from the file itself. */
const BLOCK = "headwise-block";

/** Blocks in the Cache API of the page's origin. What does not fit there is not kept. */
export class PageCache implements KeptBlocks {
  readonly #name: string;

  private constructor(name: string) {
    this.#name = name;
  }

  /** The cache of this name; undefined where there is none: in Node, and in pages that are not secure. */
  static open(name: string): PageCache | undefined {
    return globalThis.caches === undefined ? undefined : new PageCache(name);
  }

  async file(address: string, version: string): Promise<KeptFile> {
    const cache = await attempt(() => caches.open(this.#name));
    if (!cache) return NOTHING;
    const requests = (await attempt(() => cache.keys(address, { ignoreSearch: true }))) ?? [];
    const old = requests.filter(({ url }) => !new URL(url).searchParams.get(BLOCK)?.startsWith(`${version}/`));
    await Promise.all(old.map((request) => attempt(() => cache.delete(request))));
    const urlOf = (n: number) => {
      const url = new URL(address);
      url.searchParams.set(BLOCK, `${version}/${n}`);
      return url.href;
    };
    return {
      async block(n) {
        const response = await attempt(() => cache.match(urlOf(n)));
        return response && new Uint8Array(await response.arrayBuffer());
      },
      async keep(n, bytes) {
        await attempt(() => cache.put(urlOf(n), new Response(bytes)));
      },
    };
  }
}

const NOTHING: KeptFile = { block: () => Promise.resolve(undefined), keep: () => Promise.resolve() };

/** A cache is only a help: where the browser refuses it, or its room is used up, reading goes on without. */
async function attempt<T>(use: () => Promise<T>): Promise<T | undefined> {
  try {
    return await use();
  } catch {
    return undefined;
  }
}
