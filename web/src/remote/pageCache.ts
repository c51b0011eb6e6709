import type { KeptBlocks, KeptFile } from "./keptBlocks.js";

/** The parameter that tells a block of a file in the cache from the file itself. */
const BLOCK = "headwise-block";

/** Blocks in the Cache API of the page's origin. */
export class PageCache implements KeptBlocks {
  readonly #name: string;

  private constructor(name: string) {
    this.#name = name;
  }

  /** The cache of this name; undefined where there is none: in Node, and in pages that are not secure. */
  static open(name: string): PageCache | undefined {
    return globalThis.caches === undefined ? undefined : new PageCache(name);
  }

  async file(address: string, version: string): Promise<KeptFile | undefined> {
    const cache = await caches.open(this.#name).catch(() => undefined); // the browser may refuse it
    if (!cache) return undefined;
    const requests = await cache.keys(address, { ignoreSearch: true });
    const old = requests.filter(({ url }) => !new URL(url).searchParams.get(BLOCK)?.startsWith(`${version}/`));
    await Promise.all(old.map((request) => cache.delete(request)));
    const urlOf = (n: number) => {
      const url = new URL(address);
      url.searchParams.set(BLOCK, `${version}/${n}`);
      return url.href;
    };
    return {
      async block(n) {
        const response = await cache.match(urlOf(n));
        return response && new Uint8Array(await response.arrayBuffer());
      },
      keep: (n, bytes) => cache.put(urlOf(n), new Response(bytes)),
    };
  }
}
