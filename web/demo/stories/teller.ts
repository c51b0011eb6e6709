import type { Random } from "headwise/train";

import { FORMS, type FormName } from "./forms.js";
import { holds } from "./judge.js";
import { COLOURS, MEN, PAIRED_THINGS, SINGLE_THINGS, TELLERS, WOMEN } from "./lexicon.js";
import { termsOf, written, type Decided, type Roles } from "./pattern.js";
import { SHAPES, withDerived, type FactKind, type Features } from "./shapes.js";
import { World } from "./world.js";

/** A word of a story that has a true answer. */
export interface Fact {
  /** Its place among the words. */
  readonly at: number;
  readonly kind: FactKind;
  readonly right: string;
  /** What else could stand there: the other forms of the word, or other words of its class in this story. */
  readonly others: readonly string[];
}

/** A thing or an animal that a story names, and who has it then. */
export interface Named {
  /** The place of the noun among the words. */
  readonly at: number;
  readonly holder: string;
}

export interface Story {
  readonly words: readonly string[];
  readonly facts: readonly Fact[];
  readonly named: readonly Named[];
}

/** Tells a story sentence by sentence, and draws what it is about. */
export class Teller {
  readonly #world = new World();
  readonly #words: string[] = [];
  readonly #facts: Fact[] = [];
  readonly #named: Named[] = [];

  constructor(private readonly source: Random) {}

  get story(): Story {
    return { words: this.#words, facts: this.#facts, named: this.#named };
  }

  /** Says a sentence, which must be true. */
  say(name: FormName, roles: Roles): void {
    const form = FORMS[name];
    const before = this.#holders(roles);
    if (!holds(this.#world, roles, form.says)) throw new Error(`"${form.pattern}" is not true in this story`);
    const { words, decided } = written(termsOf(form), roles);
    const start = this.#words.length;
    this.#words.push(...words);
    for (const each of decided) this.#decide(start + each.at, each);
    // A sentence that gives something away names it before it is away.
    const holders = new Map([...this.#holders(roles), ...before]);
    words.forEach((word, n) => {
      const holder = holders.get(word);
      if (holder !== undefined) this.#named.push({ at: start + n, holder });
    });
  }

  /** The nouns of a sentence, and who has what they mean. */
  #holders(roles: Roles): ReadonlyMap<string, string> {
    const pairs = Object.values(roles).flatMap((features): [string, string][] => {
      const [word, holder] = [features["noun"] ?? features["kind"], this.#world.holderOf(features)];
      return word !== undefined && holder !== undefined ? [[word, holder]] : [];
    });
    return new Map(pairs);
  }

  /** One of them. */
  one<T>(of: readonly T[]): T {
    return of[this.source.integer(of.length)]!;
  }

  /** Some of them, all different, in random order. */
  some<T>(of: readonly T[], count: number): T[] {
    return Array.from(this.source.permutation(of.length).subarray(0, count), (at) => of[at]!);
  }

  /** From `least` to `most`. */
  number(least: number, most: number): number {
    return least + this.source.integer(most - least + 1);
  }

  happens(chance: number): boolean {
    return this.source.next() < chance;
  }

  people(count: number): Features[] {
    return this.some([...WOMEN, ...MEN], count).map((name) => withDerived({ name }));
  }

  /** Things of different colours and nouns. */
  things(count: number): Features[] {
    const nouns = this.some([...SINGLE_THINGS, ...PAIRED_THINGS, ...PAIRED_THINGS], 2 * count);
    const colours = this.some(COLOURS, count);
    const different = [...new Set(nouns)].slice(0, count);
    return different.map((noun, n) => withDerived({ noun, colour: colours[n]! }));
  }

  asker(): Features {
    return { role: this.one(TELLERS) };
  }

  #decide(at: number, { kind, shape }: Decided): void {
    const { feature, words } = SHAPES[shape]!;
    const right = this.#words[at]!;
    const forms = Object.values(words);
    const isForm = feature === "sex" || feature === "number" || feature === "count";
    const told = new Set(this.#words.slice(0, at));
    const others = forms.filter((word) => word !== right && (isForm || told.has(word)));
    if (others.length > 0) this.#facts.push({ at, kind, right, others });
  }
}
