import type { CacheDtype } from "headwise";

import type { Decoder, Said, Session } from "../../generate/decoder.js";
import { tokensOf, vocabularyOf } from "../../generate/decoderFile.js";
import { candidates, largestChange, softmax, surprise, taken, type Taking } from "../../generate/sampling.js";
import { random } from "../shell/random.js";
import { weightsDifference, type Difference } from "./difference.js";
import { exactAttention } from "./exact.js";
import type { CacheState, Endless, Writing, Written } from "./generateProtocol.js";
import { projected } from "./projected.js";

const DTYPES: readonly CacheDtype[] = ["float32", "float16", "int8"];
/** The tokens of one point of the endless text. */
const GROUP = 32;
/** Tokens in a second are those of the latest so many. */
const LATEST = 20;

type Gains = readonly (readonly number[])[];

/** A cache that reads the text, and what the decoder says after it. */
interface Reader {
  readonly name: CacheState["name"];
  readonly session: Session;
  said: Said | undefined;
}

/**
 * A text and its continuation. The same tokens go through caches of every type, so that their errors can be compared;
 * one of them decides what is written. If heads are off, a twin with all heads writes on too.
 */
export class Writer {
  readonly #decoder: Decoder;
  readonly #writing: Writing;
  readonly #readers: readonly Reader[];
  readonly #twin: Reader | undefined;
  readonly #gains: Gains;
  readonly #allOn: Gains;
  readonly #tokens: number[];
  readonly #twinTokens: number[];
  readonly #begun: number;
  readonly #times: number[] = [];
  taking: Taking;

  private constructor(decoder: Decoder, writing: Writing, readers: readonly Reader[], twin: Reader | undefined) {
    const { layers, heads } = decoder.config;
    const gains = (of: (layer: number, head: number) => number) =>
      Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (__, head) => of(layer, head)));
    this.#decoder = decoder;
    this.#writing = this.taking = writing;
    this.#readers = readers;
    this.#twin = twin;
    this.#gains = gains((layer, head) => writing.gains[layer]?.[head] ?? 1);
    this.#allOn = gains(() => 1);
    this.#tokens = [...beginningOf(decoder, writing.beginning)];
    this.#twinTokens = [...this.#tokens];
    this.#begun = this.#tokens.length;
  }

  /** Makes the caches, and reads the beginning. */
  static async begin(decoder: Decoder, writing: Writing): Promise<Writer> {
    const { ring, dtype, gains } = writing;
    const kept = ring && { ring };
    const reader = async (name: Reader["name"], session: Promise<Session>) => ({
      name,
      session: await session,
      said: undefined,
    });
    const readers: Reader[] = [];
    for (const each of DTYPES) readers.push(await reader(each, decoder.session({ dtype: each, ...kept })));
    if (ring) readers.push(await reader("whole", decoder.session({ dtype: "float32" })));
    const isAnyOff = gains.some((heads) => heads.includes(0));
    const twin = isAnyOff ? await reader(dtype, decoder.session({ dtype, ...kept })) : undefined;
    const writer = new Writer(decoder, writing, readers, twin);
    await writer.#read(writer.#tokens, writer.#twinTokens);
    writer.#times.length = 0; // the beginning is read at once
    return writer;
  }

  /** Whether nothing comes after the text. */
  get isAtEnd(): boolean {
    const { config } = this.#decoder;
    return this.#tokens.length > this.#begun && vocabularyOf(config).tokens[this.#tokens.at(-1)!] === config.end;
  }

  /** Takes the next token by chance, or takes this one. */
  async write(token?: number): Promise<void> {
    const uniform = random(this.#writing.seed * 65_537 + this.#tokens.length)();
    const next = (said: Said) => taken(candidates(said.scores, this.taking), uniform);
    const own = token ?? next(this.#writer.said!);
    const twins = this.#twin && (token ?? next(this.#twin.said!));
    this.#tokens.push(own);
    if (twins !== undefined) this.#twinTokens.push(twins);
    await this.#read([own], twins === undefined ? [] : [twins]);
  }

  get written(): Written {
    const { said, session } = this.#writer;
    const recent = this.#times.slice(-LATEST);
    const time = recent.reduce((sum, each) => sum + each, 0);
    return {
      tokens: Int32Array.from(this.#tokens),
      begun: this.#begun,
      twin: this.#twin && Int32Array.from(this.#twinTokens),
      scores: said!.scores,
      weights: said!.weights,
      places: session.places,
      caches: this.#caches,
      speed: time > 0 ? (1000 * recent.length) / time : undefined,
    };
  }

  /** Compares what the heads of the newest token look at with the definition, over the keys of the float32 cache. */
  async check(): Promise<Difference[]> {
    const { heads, layers, position: kind } = this.#decoder.config;
    const { said, session } = this.#readers[0]!;
    const stored = await session.stored();
    return Array.from({ length: layers }, (_, layer) => {
      const place = { heads, position: kind, start: this.#tokens.length - 1 } as const;
      const { query } = projected(said!.inputs[layer]!, this.#decoder.projections(layer), place);
      const { key, value } = stored[layer]!;
      const exact = exactAttention({ data: query.data, shape: [1, ...query.shape] }, key, value, {});
      return weightsDifference({ layer: layer + 1 }, said!.weights[layer]!, exact.probs);
    });
  }

  dispose(): void {
    for (const { session } of this.#readers) session.dispose();
    this.#twin?.session.dispose();
  }

  get #writer(): Reader {
    return this.#readers.find(({ name }) => name === this.#writing.dtype)!;
  }

  get #caches(): CacheState[] {
    const chances = new Map(this.#readers.map(({ name, said }) => [name, softmax(said!.scores)]));
    const reference = chances.get(chances.has("whole") ? "whole" : "float32")!;
    return this.#readers.map(({ name, session }) => ({
      name,
      bytes: session.bytes,
      tokens: session.length,
      change: chances.get(name) === reference ? undefined : largestChange(chances.get(name)!, reference),
      isWriter: name === this.#writing.dtype,
    }));
  }

  async #read(tokens: readonly number[], twins: readonly number[]): Promise<void> {
    for (const reader of this.#readers) {
      const start = performance.now();
      reader.said = await reader.session.read(Int32Array.from(tokens), this.#gains);
      if (reader === this.#writer) this.#times.push(performance.now() - start);
    }
    if (this.#twin) this.#twin.said = await this.#twin.session.read(Int32Array.from(twins), this.#allOn);
  }
}

/** At least one token, because a decoder continues what it has read. */
function beginningOf({ config }: Decoder, text: string): Int32Array {
  const tokens = tokensOf(text, config);
  return tokens.length > 0 ? tokens : tokensOf(config.end ?? " ", config);
}

/** Reads a text token by token with three caches, and tells how much each group of tokens surprises. */
export async function* endlessText(
  decoder: Decoder,
  tokens: Int32Array,
  { window, keepFirst }: { readonly window: number; readonly keepFirst: number },
): AsyncGenerator<Endless> {
  const sessions = {
    whole: await decoder.session({ dtype: "float32" }),
    sinks: await decoder.session({ dtype: "float32", ring: { keepFirst, window } }),
    window: await decoder.session({ dtype: "float32", ring: { keepFirst: 0, window: window + keepFirst } }),
  };
  const { layers, heads } = decoder.config;
  const gains = Array.from({ length: layers }, () => Array<number>(heads).fill(1));
  const found: Record<keyof typeof sessions, number[]> = { whole: [], sinks: [], window: [] };
  const sums = { whole: 0, sinks: 0, window: 0 };
  try {
    for (let at = 0; at + 1 < tokens.length; at++) {
      for (const name of ["whole", "sinks", "window"] as const) {
        const { scores } = await sessions[name].read(tokens.subarray(at, at + 1), gains);
        sums[name] += surprise(scores, tokens[at + 1]!);
        if ((at + 1) % GROUP === 0) {
          found[name].push(sums[name] / GROUP);
          sums[name] = 0;
        }
      }
      if ((at + 1) % GROUP === 0) yield { ...found, group: GROUP };
    }
  } finally {
    for (const session of Object.values(sessions)) session.dispose();
  }
}
