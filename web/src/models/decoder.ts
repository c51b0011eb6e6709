import { OutOfMemoryError } from "../base/errors.js";
import type { CacheDtype } from "../cache/cacheDtype.js";
import type { KvCache } from "../cache/kvCache.js";
import type { Attention } from "../instance/attention.js";
import { roomOf } from "./modelRoom.js";
import type { Network } from "./network.js";
import type { TokenSteps } from "./tokenSteps.js";

/** What a text needs while it is generated: a cache for each layer, and the network of one token as a recorded step. */
export class Decoder {
  readonly dtype: CacheDtype;
  /** By the names of layers. */
  readonly caches: ReadonlyMap<string, KvCache>;
  /** undefined: all tokens go through the layers call by call. */
  readonly steps: TokenSteps | undefined;

  constructor(dtype: CacheDtype, caches: ReadonlyMap<string, KvCache>, steps: TokenSteps | undefined) {
    this.dtype = dtype;
    this.caches = caches;
    this.steps = steps;
  }

  /** Takes all tokens back. That gives the memory of their keys and values back too. */
  async rewind(): Promise<void> {
    await Promise.all([...this.caches.values()].map((cache) => cache.rewind(0)));
  }

  dispose(): void {
    this.steps?.dispose();
    for (const cache of this.caches.values()) cache.dispose();
  }
}

/** Makes the caches of a text. */
export async function cachesFor(network: Network, dtype: CacheDtype): Promise<Map<string, KvCache>> {
  const caches = new Map<string, KvCache>();
  try {
    for (const { name, layer } of network.attention)
      caches.set(name, await layer.kvCache({ dtype, placement: layer.placement }));
    return caches;
  } catch (error) {
    for (const cache of caches.values()) cache.dispose();
    throw error;
  }
}

/** Of the memory that an instance may have, the part that a kept step may hold. */
const MOST_KEPT = 1 / 4;

/** What models of each instance keep now. A model that was dropped can still be collected. */
const KEPT = new WeakMap<Attention, Set<WeakRef<KeptDecoder>>>();

/** Gives back what models of this instance keep between texts. Returns whether there was something. */
export function releaseKept(hw: Attention): boolean {
  return [...(KEPT.get(hw) ?? [])].map((kept) => kept.deref()?.release()).includes(true);
}

/**
 * Computes. If memory is short, kept steps are given back, and it begins again.
 *
 * @param decoder - What the computation appends to. It had no tokens.
 */
export async function inRoom<T>(hw: Attention, compute: () => Promise<T>, decoder?: Decoder): Promise<T> {
  try {
    return await compute();
  } catch (error) {
    const hasStep = decoder?.steps?.bytes !== undefined;
    if (!OutOfMemoryError.is(error) || !(releaseKept(hw) || hasStep)) throw error;
    decoder?.steps?.dispose();
    await decoder?.rewind();
    return compute();
  }
}

/**
 * The decoder that a model keeps from one text to the next, because recording a step costs more than a token. It also knows
 * the decoders that texts use now.
 */
export class KeptDecoder {
  readonly #hw: Attention;
  readonly #self = new WeakRef(this);
  readonly #used = new Set<Decoder>();
  #decoder: Decoder | undefined;
  #isClosed = false;

  constructor(hw: Attention) {
    this.#hw = hw;
  }

  /** The kept decoder, which is then the caller's. undefined if there is none with caches of this type. */
  take(dtype: CacheDtype): Decoder | undefined {
    if (this.#decoder?.dtype !== dtype) return undefined;
    return this.#given();
  }

  /** Notes that a text uses a decoder, until `keep` or `end`: the text may be left in the middle. */
  use(decoder: Decoder): Decoder {
    this.#used.add(decoder);
    if (this.#isClosed) this.end(decoder);
    return decoder;
  }

  /** Disposes a decoder that a text has used. */
  end(decoder: Decoder): void {
    this.#used.delete(decoder);
    decoder.dispose();
  }

  /** Keeps a decoder in place of an earlier one, or disposes it: without a step it is quickly made again. */
  async keep(decoder: Decoder): Promise<void> {
    this.#used.delete(decoder);
    const { limit = Infinity } = roomOf(this.#hw);
    const bytes = decoder.steps?.bytes;
    const isKept = bytes !== undefined && bytes <= limit * MOST_KEPT && (await isRewound(decoder));
    if (!isKept || this.#isClosed) return decoder.dispose();
    this.release();
    this.#decoder = decoder;
    KEPT.set(this.#hw, (KEPT.get(this.#hw) ?? new Set()).add(this.#self));
  }

  /** Gives the memory back. Returns whether there was something. */
  release(): boolean {
    const decoder = this.#given();
    decoder?.dispose();
    return decoder !== undefined;
  }

  /** Whether the model was disposed. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Keeps nothing any more, and gives back what texts use. */
  dispose(): void {
    this.#isClosed = true;
    this.release();
    for (const decoder of this.#used) this.end(decoder);
  }

  /** What was kept, which is then no longer kept. */
  #given(): Decoder | undefined {
    const decoder = this.#decoder;
    this.#decoder = undefined;
    KEPT.get(this.#hw)?.delete(this.#self);
    return decoder;
  }
}

/** Rewinds; false if that fails, for example because the instance was disposed. */
const isRewound = (decoder: Decoder): Promise<boolean> =>
  decoder.rewind().then(
    () => true,
    () => false,
  );
