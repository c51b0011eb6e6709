import type { Decoder, Looked } from "../../generate/decoder.js";
import { tokensOf, vocabularyOf } from "../../generate/decoderFile.js";
import { candidates, type Taking } from "../../generate/sampling.js";
import { isSameHead, type HeadPlace } from "../shell/headPlace.js";
import type { CopyingResult, ExperimentOrder, ExperimentResult, Expected, HeadsOrder, Looking, SwapOrder, SwapResult, TooFewResult, WeightResult } from "./experimentProtocol.js"; // oxfmt-ignore
import { gainsWithout } from "./headGains.js";
import type { HeadShare } from "./pronounProtocol.js";

/** A head looks at a word if more than half of its weight is there. */
const LOOKS = 0.5;

/** What the decoder says after the last token of a text. */
interface Reading extends Looked {
  readonly tokens: Int32Array;
}

/** Changes one thing of a text or of a decoder of words, and says what becomes of its heads and of the next word. */
export class Experimenter {
  readonly #decoder: Decoder;
  readonly #taking: Taking;
  readonly #names: readonly string[];

  constructor(decoder: Decoder, taking: Taking) {
    this.#decoder = decoder;
    this.#taking = taking;
    this.#names = vocabularyOf(decoder.config).tokens;
  }

  run(order: ExperimentOrder): Promise<ExperimentResult> {
    switch (order.kind) {
      case "swap":
        return this.#swap(order);
      case "copying":
        return this.#copying(order);
      case "weight":
        return this.#weight(order);
      default:
        return order satisfies never;
    }
  }

  async #swap(order: SwapOrder): Promise<SwapResult> {
    const { text, swap, control } = order;
    const [before, after, other] = [
      await this.#read(text),
      await this.#read(swap.text),
      await this.#read(control.text),
    ];
    const moves = this.#heads.map((head) => ({ head, moved: movedShare(before, after, head) }));
    const { head, moved } = moves.reduce((most, each) => (each.moved > most.moved ? each : most));
    return {
      kind: "swap",
      ...{ order, head, moved },
      before: this.#looking(before, head),
      after: this.#looking(after, head),
      control: { ...this.#expected(other), moved: movedShare(before, other, head) },
    };
  }

  async #copying(order: HeadsOrder): Promise<CopyingResult | TooFewResult> {
    const { text } = order;
    const whole = await this.#read(text);
    const expected = this.#expected(whole);
    const heads = this.#onAnswer(whole);
    if (heads.length === 0) return this.#tooFew(order, whole);
    const others = this.#heads.filter((place) => !heads.some((head) => isSameHead(head, place))).slice(-heads.length);
    const chance = async (off: readonly HeadPlace[]) => this.#chanceOf(expected.word, await this.#read(text, off));
    const alone: number[] = [];
    for (const head of heads) alone.push(await chance([head]));
    return {
      kind: "copying",
      ...{ order, heads, others, expected },
      share: heads.at(-1)!.share,
      alone: Math.min(...alone),
      left: await chance(heads),
      without: this.#expected(await this.#read(text, heads)),
      control: await chance(others),
    };
  }

  async #weight(order: HeadsOrder): Promise<WeightResult | TooFewResult> {
    const { text } = order;
    const whole = await this.#read(text);
    const expected = this.#expected(whole);
    const heads = this.#onAnswer(whole);
    if (heads.length < 2) return this.#tooFew(order, whole);
    const tries: { head: HeadShare; reading: Reading }[] = [];
    for (const head of heads) tries.push({ head, reading: await this.#read(text, [head]) });
    const [needed, ...rest] = tries.sort((a, b) => this.#chanceOf(expected.word, a.reading) - this.#chanceOf(expected.word, b.reading)); // oxfmt-ignore
    const spared = rest.at(-1)!;
    return {
      kind: "weight",
      ...{ order, expected },
      needed: needed!.head,
      spared: spared.head,
      without: this.#expected(needed!.reading),
      still: this.#shareOn(expected.word, needed!.reading, spared.head),
      control: this.#expected(spared.reading),
    };
  }

  get #heads(): readonly HeadPlace[] {
    const { layers, heads } = this.#decoder.config;
    return Array.from({ length: layers * heads }, (_, n) => ({ layer: Math.floor(n / heads) + 1, head: n % heads }));
  }

  async #read(text: string, off: readonly HeadPlace[] = []): Promise<Reading> {
    const { config } = this.#decoder;
    const tokens = tokensOf(text, config);
    const [looked] = await this.#decoder.look(tokens, [tokens.length - 1], gainsWithout(config, off));
    return { ...looked!, tokens };
  }

  /** The heads that look at the latest place of the word that is likeliest to come next, the surest first. */
  #onAnswer(reading: Reading): readonly HeadShare[] {
    return this.#sharesOn(reading).filter(({ share }) => share > LOOKS);
  }

  #tooFew(order: HeadsOrder, reading: Reading): TooFewResult {
    const expected = this.#expected(reading);
    const stands = this.#placeOf(expected.word, reading) !== undefined;
    return { kind: "tooFew", ...{ order, expected, stands }, closest: this.#sharesOn(reading)[0]! };
  }

  /** What part of its weight each head has there, the largest first. */
  #sharesOn(reading: Reading): readonly HeadShare[] {
    const { word } = this.#expected(reading);
    const all = this.#heads.map((head) => ({ ...head, share: this.#shareOn(word, reading, head) }));
    return all.sort((a, b) => b.share - a.share);
  }

  /** The part of a head's weight on the latest place of a word; 0 if the text does not have it. */
  #shareOn(word: string, reading: Reading, { layer, head }: HeadPlace): number {
    const place = this.#placeOf(word, reading);
    return place === undefined ? 0 : reading.weights[layer - 1]![head]![place]!;
  }

  /** The latest place of a word. The token that stands before every text is none of its words. */
  #placeOf(word: string, { tokens }: Reading): number | undefined {
    const first = Number(this.#decoder.config.start !== undefined);
    const place = tokens.lastIndexOf(this.#names.indexOf(word));
    return place < first ? undefined : place;
  }

  #expected({ scores }: Looked): Expected {
    const { token, chance } = candidates(scores, this.#taking)[0]!;
    return { word: this.#names[token]!, chance };
  }

  #chanceOf(word: string, { scores }: Looked): number {
    return candidates(scores, this.#taking).find(({ token }) => this.#names[token] === word)!.chance;
  }

  #looking(reading: Reading, { layer, head }: HeadPlace): Looking {
    const weights = reading.weights[layer - 1]![head]!;
    const share = Math.max(...weights);
    return { ...this.#expected(reading), on: this.#names[reading.tokens[weights.indexOf(share)]!]!, share };
  }
}

/** The part of a head's weight that is elsewhere in the other reading, of as many tokens. */
function movedShare(before: Looked, after: Looked, { layer, head }: HeadPlace): number {
  const [was, is] = [before, after].map(({ weights }) => weights[layer - 1]![head]!) as [Float32Array, Float32Array];
  return was.reduce((sum, weight, place) => sum + Math.max(0, weight - is[place]!), 0);
}
