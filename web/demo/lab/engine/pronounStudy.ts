import type { Decoder, Looked } from "../../generate/decoder.js";
import { vocabularyOf } from "../../generate/decoderFile.js";
import { softmax } from "../../generate/sampling.js";
import { exchanged, withOtherArticle, withOtherNoun, type Exchange } from "../../stories/exchange.js";
import { pronounsOf, type Pronoun, type PronounKind } from "../../stories/pronouns.js";
import type { HeadPlace } from "../shell/headPlace.js";
import { gainsWithout } from "./headGains.js";
import type { Followed, HeadShare, Look, Moved, OwnPronoun, PronounFinding, PronounStudy } from "./pronounProtocol.js";

/** A pronoun in its story. */
interface Case extends Pronoun {
  readonly words: readonly string[];
}

/** Asks a decoder of stories which of its heads finds what a pronoun means. */
export class PronounAsker {
  readonly #decoder: Decoder;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #start: readonly number[];

  constructor(decoder: Decoder) {
    const { tokens } = vocabularyOf(decoder.config);
    const { start } = decoder.config;
    this.#decoder = decoder;
    this.#ids = new Map(tokens.map((token, id) => [token, id]));
    this.#start = start === undefined ? [] : [this.#ids.get(start)!];
  }

  /** Asks over some stories, and looks at the visitor's text. `undefined` if it is over before. */
  async study(
    stories: readonly (readonly string[])[],
    text: Int32Array,
    isOver: () => Promise<boolean>,
  ): Promise<PronounStudy | undefined> {
    const findings: PronounFinding[] = [];
    for (const kind of ["person", "thing"] as const) {
      const found = await this.#finding(kind, stories, isOver);
      if (found === "over") return undefined;
      if (found) findings.push(found);
    }
    return { findings, own: await this.#own(text, findings), tokens: text };
  }

  async #finding(
    kind: PronounKind,
    stories: readonly (readonly string[])[],
    isOver: () => Promise<boolean>,
  ): Promise<PronounFinding | "over" | undefined> {
    const cases = stories.map((words) => casesOf(words).filter((each) => each.kind === kind));
    const all = cases.flat();
    if (all.length === 0) return undefined;
    const looks = await this.#lookAll(cases);
    const onWord = this.#shares(all, looks, 0);
    const onBefore = this.#shares(all, looks, 1);
    const [closest, before] = [mostOf(onWord), mostOf(onBefore)];
    const isBefore = before.share > closest.share;
    const finder = isBefore ? before : closest;
    const least = (isBefore ? onBefore : onWord)
      .filter(({ layer, head }) => layer === finder.layer && head !== finder.head)
      .reduce((a, b) => (b.share < a.share ? b : a));
    if (await isOver()) return "over";
    const without = this.#rightOf(all, await this.#lookAll(cases, finder));
    const control = { ...least, right: this.#rightOf(all, await this.#lookAll(cases, least)) };
    if (await isOver()) return "over";
    const { moved, looks: pair } = await this.#exchange(all, looks, finder, isBefore);
    return {
      ...{ kind, asked: all.length, closest, finder, isBefore, without, control },
      stories: cases.filter((each) => each.length > 0).length,
      most: all.filter((each, n) => isMost(weightsOf(looks[n]!, finder), this.#tokenAt(each.to) - Number(isBefore)))
        .length,
      right: this.#rightOf(all, looks),
      exchange: moved,
      article: await this.#followed(all, withOtherArticle),
      noun: await this.#followed(all, withOtherNoun),
      looks: pair,
    };
  }

  /** What the decoder says where each pronoun comes, with all heads or without one. */
  async #lookAll(stories: readonly (readonly Case[])[], off?: HeadPlace): Promise<readonly Looked[]> {
    const looks: Looked[] = [];
    for (const cases of stories) {
      if (cases.length === 0) continue;
      const last = cases.at(-1)!;
      const places = cases.map(({ at }) => this.#tokenAt(at) - 1);
      looks.push(...(await this.#look(last.words.slice(0, last.at), places, off)));
    }
    return looks;
  }

  #look(words: readonly string[], places?: readonly number[], off?: HeadPlace): Promise<readonly Looked[]> {
    const tokens = this.#tokensOf(words);
    const gains = gainsWithout(this.#decoder.config, off ? [off] : []);
    return this.#decoder.look(tokens, places ?? [tokens.length - 1], gains);
  }

  /** For each head, its mean weight on what is meant, or on so many words before it. */
  #shares(cases: readonly Case[], looks: readonly Looked[], before: number): readonly HeadShare[] {
    const { layers, heads } = this.#decoder.config;
    const all = Array.from({ length: layers * heads }, (_, n) => ({
      layer: Math.floor(n / heads) + 1,
      head: n % heads,
    }));
    return all.map((place) => {
      const on = cases.map(({ to }, n) => weightsOf(looks[n]!, place)[this.#tokenAt(to) - before]!);
      return { ...place, share: mean(on) };
    });
  }

  #rightOf(cases: readonly Case[], looks: readonly Looked[]): number {
    return cases.filter(({ word, other }, n) => this.#prefers(looks[n]!, word, other)).length;
  }

  #prefers({ scores }: Looked, word: string, other: string): boolean {
    return scores[this.#ids.get(word)!]! > scores[this.#ids.get(other)!]!;
  }

  /** Exchanges what is meant for another person or thing of the story. */
  async #exchange(
    cases: readonly Case[],
    looks: readonly Looked[],
    finder: HeadShare,
    isBefore: boolean,
  ): Promise<{ moved: Moved; looks: readonly [Look, Look] | undefined }> {
    const [before, after]: [[number, number][], [number, number][]] = [[], []];
    const pairs: (readonly [Look, Look])[] = [];
    let followed = 0;
    for (const [n, each] of cases.entries()) {
      const exchange = exchanged(each.words, each);
      if (!exchange) continue;
      const told = each.words.slice(0, each.at);
      const [look] = (await this.#look(exchange.words)) as [Looked];
      const [own, other] = [clueOf(exchange.own, isBefore), clueOf(exchange.other, isBefore)];
      const sums = (words: readonly string[], looked: Looked): [number, number] => {
        const weights = weightsOf(looked, finder);
        return [this.#sumOn(own, words, weights), this.#sumOn(other, words, weights)];
      };
      before.push(sums(told, looks[n]!));
      after.push(sums(exchange.words, look));
      if (this.#prefers(look, each.other, each.word)) followed++;
      const pair = [
        this.#shown(told, looks[n]!, finder, [each.word, each.other]),
        this.#shown(exchange.words, look, finder, [each.other, each.word]),
      ] as const;
      const clues = [this.#mostIn(told, pair[0]), this.#mostIn(exchange.words, pair[1])];
      if (clues[0] === own && clues[1] === other) pairs.push(pair);
    }
    const means = (sums: readonly (readonly [number, number])[]) => ({
      own: mean(sums.map(([own]) => own)),
      other: mean(sums.map(([, other]) => other)),
    });
    return {
      moved: { asked: after.length, followed, before: means(before), after: means(after) },
      looks: clearest(pairs),
    };
  }

  /** How often the model says the other pronoun when the story is changed so. */
  async #followed(
    cases: readonly Case[],
    change: (words: readonly string[], pronoun: Pronoun) => readonly string[] | undefined,
  ): Promise<Followed> {
    let [asked, followed] = [0, 0];
    for (const each of cases) {
      const words = change(each.words, each);
      if (!words) continue;
      asked++;
      const [look] = (await this.#look(words)) as [Looked];
      if (this.#prefers(look, each.other, each.word)) followed++;
    }
    return { asked, followed };
  }

  #shown(words: readonly string[], look: Looked, finder: HeadShare, [right, wrong]: readonly [string, string]): Look {
    const chances = softmax(look.scores);
    return {
      tokens: this.#tokensOf(words),
      weights: weightsOf(look, finder).slice(0, words.length + this.#start.length),
      ...{ right, wrong },
      chance: chances[this.#ids.get(right)!]!,
      otherChance: chances[this.#ids.get(wrong)!]!,
    };
  }

  async #own(text: Int32Array, findings: readonly PronounFinding[]): Promise<readonly OwnPronoun[]> {
    const { tokens: names } = vocabularyOf(this.#decoder.config);
    const words = Array.from(text.subarray(this.#start.length), (token) => names[token]!);
    const cases = casesOf(words).filter(({ kind }) => findings.some((finding) => finding.kind === kind));
    const looks = await this.#lookAll([cases]);
    return cases.map(({ kind, word, at, to }, n) => {
      const { finder, isBefore } = findings.find((finding) => finding.kind === kind)!;
      const clue = to - Number(isBefore);
      const share = weightsOf(looks[n]!, finder)[this.#tokenAt(clue)]!;
      return { kind, word, at: this.#tokenAt(at), meant: words[to]!, clue: words[clue]!, share };
    });
  }

  /** The word with the most weight. */
  #mostIn(words: readonly string[], { weights }: Look): string | undefined {
    return words[weights.indexOf(Math.max(...weights)) - this.#start.length];
  }

  /** The weight on all places of a word. */
  #sumOn(word: string, words: readonly string[], weights: Float32Array): number {
    return words.reduce((sum, each, place) => sum + (each === word ? weights[this.#tokenAt(place)]! : 0), 0);
  }

  #tokenAt(place: number): number {
    return place + this.#start.length;
  }

  #tokensOf(words: readonly string[]): Int32Array {
    return Int32Array.from([...this.#start, ...words.map((word) => this.#ids.get(word)!)]);
  }
}

/** The shortest pair in which a pronoun is likely to come next; if there is none, the one in which it is likeliest. */
function clearest(pairs: readonly (readonly [Look, Look])[]): readonly [Look, Look] | undefined {
  const chance = (pair: readonly [Look, Look]) => Math.min(...pair.map((look) => look.chance + look.otherChance));
  const likely = pairs.filter((pair) => chance(pair) > 0.5);
  if (likely.length > 0) return likely.reduce((a, b) => (b[0].tokens.length < a[0].tokens.length ? b : a));
  return pairs.toSorted((a, b) => chance(b) - chance(a))[0];
}

function casesOf(words: readonly string[]): readonly Case[] {
  // Something must be read before a pronoun, and before what it means.
  return pronounsOf(words)
    .filter(({ at, to }) => at > 0 && to > 0)
    .map((pronoun) => ({ ...pronoun, words }));
}

function clueOf({ name, colour }: Exchange["own"], isBefore: boolean): string {
  return isBefore ? (colour ?? name) : name;
}

function weightsOf({ weights }: Looked, { layer, head }: HeadPlace): Float32Array {
  return weights[layer - 1]![head]!;
}

function isMost(weights: Float32Array, place: number): boolean {
  return weights.every((weight) => weight <= weights[place]!);
}

function mostOf(shares: readonly HeadShare[]): HeadShare {
  return shares.reduce((a, b) => (b.share > a.share ? b : a));
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
