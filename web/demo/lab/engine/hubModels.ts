import { hub } from "headwise/models";

/** A model that is opened by its name on the hub. */
export interface HubModel {
  readonly name: string;
}

const SOME_NAME = "owner/name";
/** What stands before and after a model's name in the addresses of its files. */
const [BEFORE, AFTER] = hub(SOME_NAME).split(SOME_NAME) as [string, string];

/** As people read it. */
export const HUB_HOST = new URL(BEFORE).host;

/** The cache of the page in which the package keeps what it has fetched. */
export const MODEL_CACHE = "headwise-models";

/** Whether a model can have this name. */
export function isModelName(name: string): boolean {
  try {
    return hub(name) !== "";
  } catch {
    return false;
  }
}

/** The names of the models of which this browser keeps weights. A page without a cache keeps none. */
export async function keptModels(): Promise<readonly string[]> {
  const requests = await fromCaches(
    async (all) => (await all.has(MODEL_CACHE)) && (await all.open(MODEL_CACHE)).keys(),
  );
  return namesIn((requests || []).map(({ url }) => url));
}

/** The names of models in addresses of their files. */
export function namesIn(addresses: readonly string[]): readonly string[] {
  const names = addresses
    .filter((address) => address.startsWith(BEFORE) && address.includes(AFTER))
    .map((address) => address.slice(BEFORE.length, address.indexOf(AFTER)));
  return [...new Set(names)].sort();
}

/** Frees what is kept of all models. */
export async function forgetModels(): Promise<void> {
  await fromCaches((all) => all.delete(MODEL_CACHE));
}

/** Asks the caches of the page. A browser that keeps nothing, as in a sandbox, gives undefined. */
async function fromCaches<T>(ask: (all: CacheStorage) => Promise<T>): Promise<T | undefined> {
  try {
    return await ask(caches);
  } catch {
    return undefined;
  }
}
