import { NUMBERS } from "./lexicon.js";
import type { Features } from "./shapes.js";

interface Thing {
  readonly colour: string;
  readonly noun: string;
  readonly number: string;
  owner: string;
  holder: string;
  /** Where it was left or hidden. */
  place?: string;
}

interface Animal {
  readonly owner: string;
  pet?: string;
  place?: string;
}

const valueOf = (number: string) => NUMBERS.findIndex((word) => word === number) + 1;

/**
 * What a story has said so far. Each method is one statement about people, things, places or lists: it says whether the
 * statement can be true here, and keeps what it adds. A statement that cannot be true changes nothing.
 */
export class World {
  readonly cast: string[] = [];
  /** Whom the latest sentence is about. */
  subject: string | undefined;
  /** What "it" and "them" mean. */
  thing: Thing | undefined;
  readonly #things: Thing[] = [];
  readonly #animals = new Map<string, Animal>();
  readonly #counts = new Map<string, number>();
  readonly #kept = new Map<string, string>();

  /** The thing that features describe: by colour and noun, by noun, or the latest one if it has the number. */
  thingOf({ colour, noun, number }: Features): Thing | undefined {
    if (noun === undefined) return this.thing?.number === number ? this.thing : undefined;
    return this.#things.find((each) => each.noun === noun && (colour ?? each.colour) === each.colour);
  }

  /** Who has the thing of this noun, or whose the animal of this kind is. */
  holderOf({ noun, kind }: Features): string | undefined {
    if (kind !== undefined) return this.#animals.get(kind)?.owner;
    return this.#things.find((each) => each.noun === noun)?.holder;
  }

  live(a: Features, b: Features, _place: Features): boolean {
    return this.#enter(a.name!, b.name!);
  }

  three(a: Features, b: Features, c: Features): boolean {
    return this.#enter(a.name!, b.name!, c.name!);
  }

  /** Somebody of the story speaks or is spoken to. */
  knows(a: Features): boolean {
    return this.cast.includes(a.name!);
  }

  gets(a: Features, { colour, noun, number }: Features): boolean {
    const isNew = !this.#things.some((thing) => thing.colour === colour || thing.noun === noun);
    if (!isNew || !this.knows(a)) return false;
    const thing = { colour: colour!, noun: noun!, number: number!, owner: a.name!, holder: a.name! };
    this.#things.push(thing);
    return this.#mention(thing);
  }

  owns(a: Features, x: Features): boolean {
    const thing = this.thingOf(x);
    return thing?.owner === a.name && this.#mention(thing);
  }

  holds(a: Features, x: Features): boolean {
    const thing = this.thingOf(x);
    return thing?.holder === a.name && this.#mention(thing);
  }

  names(x: Features): boolean {
    return this.#mention(this.thingOf(x));
  }

  plans(a: Features, x: Features, b: Features): boolean {
    return this.#areTwo(a, b) && this.holds(a, x) && this.#keep("receiver", b.name!);
  }

  gives(a: Features, x: Features, b: Features): boolean {
    const thing = this.thingOf(x);
    const receiver = this.#kept.get("receiver") ?? b.name;
    if (!this.#areTwo(a, b) || thing?.holder !== a.name || receiver !== b.name) return false;
    this.#kept.delete("receiver");
    this.#keep("giver", a.name!);
    thing!.owner = thing!.holder = b.name!;
    return this.#mention(thing);
  }

  swaps(a: Features, x: Features, b: Features, y: Features): boolean {
    const [first, second] = [this.thingOf(x), this.thingOf(y)];
    if (!this.#areTwo(a, b) || first?.holder !== a.name || second?.holder !== b.name) return false;
    first!.owner = first!.holder = b.name!;
    second!.owner = second!.holder = a.name!;
    return this.#mention(second);
  }

  /** The latest receiver thanks the giver. */
  thanks(b: Features, a: Features): boolean {
    return this.thing?.holder === b.name && this.#kept.get("giver") === a.name;
  }

  gladly(b: Features): boolean {
    return this.thing?.holder === b.name;
  }

  lends(a: Features, x: Features, b: Features): boolean {
    const thing = this.thingOf(x);
    if (!this.#areTwo(a, b) || thing?.holder !== a.name || thing!.owner !== a.name) return false;
    thing!.holder = b.name!;
    return this.#mention(thing);
  }

  returns(b: Features, x: Features, a: Features): boolean {
    const thing = this.thingOf(x);
    if (!this.#areTwo(a, b) || thing?.holder !== b.name || thing!.owner !== a.name) return false;
    thing!.holder = a.name!;
    return this.#mention(thing);
  }

  leaves(a: Features, x: Features, p: Features): boolean {
    return this.#put(a, x, p.place!);
  }

  hides(a: Features, x: Features, u: Features): boolean {
    return this.#put(a, x, u.hideout!);
  }

  finds(a: Features, x: Features, p: Features): boolean {
    return this.lies(x, p) && this.owns(a, x);
  }

  lies(x: Features, p: Features): boolean {
    const thing = this.thingOf(x);
    return thing?.place === p.place && this.#mention(thing);
  }

  under(x: Features, u: Features): boolean {
    const thing = this.thingOf(x);
    return thing?.place === u.hideout && this.#mention(thing);
  }

  takes(a: Features, x: Features, u: Features): boolean {
    return this.knows(a) && this.under(x, u);
  }

  travels(a: Features, ...stops: readonly Features[]): boolean {
    const way = wayOf(stops);
    return new Set(stops.map(({ place }) => place)).size === stops.length && this.knows(a) && this.#keep("way", way) && this.#keep("traveller", a.name!); // oxfmt-ignore
  }

  travelled(a: Features, ...stops: readonly Features[]): boolean {
    return this.#is("traveller", a.name) && this.#is("way", wayOf(stops));
  }

  follows(b: Features, ...stops: readonly Features[]): boolean {
    return this.knows(b) && !this.#is("traveller", b.name) && this.#is("way", wayOf(stops));
  }

  orders(a: Features, b: Features, { items }: Features): boolean {
    return this.#areTwo(a, b) && isSet(items!) && this.#keep("list", items!) && this.#keep("buyer", b.name!) && this.#keep("waiter", a.name!); // oxfmt-ignore
  }

  shops(b: Features, { items }: Features): boolean {
    return this.#is("buyer", b.name) && this.#is("list", items);
  }

  waits(a: Features, { items }: Features): boolean {
    return this.#is("waiter", a.name) && this.#is("list", items);
  }

  shopper(b: Features): boolean {
    return this.#is("buyer", b.name);
  }

  sings(a: Features, { items }: Features): boolean {
    return (
      !this.#kept.has("song") &&
      this.knows(a) &&
      isSet(items!) &&
      this.#keep("song", items!) &&
      this.#keep("singer", a.name!)
    );
  }

  repeats(b: Features, { items }: Features): boolean {
    return this.knows(b) && !this.#is("singer", b.name) && this.#is("song", items);
  }

  sung({ items }: Features): boolean {
    return this.#is("song", items);
  }

  singer(a: Features): boolean {
    return this.#is("singer", a.name);
  }

  counts(a: Features, n: Features, { item }: Features): boolean {
    if (!this.knows(a) || this.#counts.has(a.name!)) return false;
    this.#counts.set(a.name!, valueOf(n.count!));
    return this.#keep(`items of ${a.name!}`, item!) && this.#keep("counting", a.name!);
  }

  adds(a: Features, m: Features): boolean {
    return this.#change(a, valueOf(m.count!));
  }

  eats(a: Features, m: Features): boolean {
    return this.#change(a, -valueOf(m.count!));
  }

  hasNow(a: Features, k: Features, i: Features): boolean {
    return this.tells(a, k) && this.counted(a, i);
  }

  /** Answers who was asked last, or tells of the latest change. */
  tells(a: Features, k: Features): boolean {
    return this.#is("counting", a.name) && this.#counts.get(a.name!) === valueOf(k.count!);
  }

  counted(a: Features, { item }: Features): boolean {
    return this.#is(`items of ${a.name!}`, item) && this.#keep("counting", a.name!);
  }

  keeps(a: Features, { kind }: Features): boolean {
    if (!this.knows(a) || this.#animals.has(kind!)) return false;
    this.#animals.set(kind!, { owner: a.name! });
    return true;
  }

  christens({ kind, pet }: Features): boolean {
    const animal = this.#animals.get(kind!);
    if (!animal || animal.pet !== undefined || [...this.#animals.values()].some((each) => each.pet === pet)) return false; // oxfmt-ignore
    animal.pet = pet!;
    return true;
  }

  runs({ kind }: Features, p: Features): boolean {
    const animal = this.#animals.get(kind!);
    if (!animal) return false;
    animal.place = p.place!;
    return this.#keep("animal", kind!);
  }

  points({ kind }: Features): boolean {
    return this.#animals.has(kind!) && this.#keep("animal", kind!);
  }

  /** The animal that is spoken of, or the one of this kind, is hers or his. */
  petOf(a: Features, d: Features): boolean {
    return this.#animalOf(d)?.owner === a.name;
  }

  cries(d: Features): boolean {
    return d.pet !== undefined && this.#animalOf(d)?.pet === d.pet;
  }

  ran(d: Features, p: Features): boolean {
    return this.cries(d) && this.#animalOf(d)!.place === p.place;
  }

  #animalOf({ kind }: Features): Animal | undefined {
    return this.#animals.get(kind ?? this.#kept.get("animal") ?? "");
  }

  #enter(...names: readonly string[]): boolean {
    if (this.cast.length > 0 || new Set(names).size < names.length) return false;
    this.cast.push(...names);
    return true;
  }

  #areTwo(a: Features, b: Features): boolean {
    return a.name !== b.name && this.knows(a) && this.knows(b);
  }

  #mention(thing: Thing | undefined): boolean {
    if (thing) this.thing = thing;
    return thing !== undefined;
  }

  #put(a: Features, x: Features, place: string): boolean {
    const thing = this.thingOf(x);
    if (thing?.holder !== a.name || this.#things.some((each) => each.place === place)) return false;
    thing!.place = place;
    return this.#mention(thing);
  }

  #change({ name }: Features, by: number): boolean {
    const count = (this.#counts.get(name!) ?? -1) + by;
    if (!this.#counts.has(name!) || count < 2 || count > NUMBERS.length) return false;
    this.#counts.set(name!, count);
    return this.#keep("counting", name!);
  }

  #keep(what: string, value: string): boolean {
    this.#kept.set(what, value);
    return true;
  }

  #is(what: string, value: string | undefined): boolean {
    return value !== undefined && this.#kept.get(what) === value;
  }
}

const wayOf = (stops: readonly Features[]) => stops.map(({ place }) => place).join(" ");

function isSet(items: string): boolean {
  const each = items.split(" ");
  return new Set(each).size === each.length;
}
