import { ANIMALS, COUNTED, GOODS, HIDEOUTS, NUMBERS, PETS, PLACES, SOUNDS } from "./lexicon.js";
import type { Features } from "./shapes.js";
import type { Teller } from "./teller.js";

type Kind = (teller: Teller) => void;
type Two = [Features, Features];
type Three = [Features, Features, Features];

const items = (list: readonly string[]): Features => ({ items: list.join(" ") });
const placesOf = (teller: Teller, count: number): Features[] => teller.some(PLACES, count).map((place) => ({ place }));

/** Two people somewhere. */
function two(teller: Teller, [P] = placesOf(teller, 1)): Two {
  const [A, B] = teller.people(2) as Two;
  teller.say(teller.happens(0.5) ? "live" : "meet", { A, B, P: P! });
  return [A, B];
}

function get(teller: Teller, A: Features, X: Features): void {
  teller.say(teller.one(["had", "found", "made"]), { A, X });
  if (teller.happens(0.4)) teller.say(teller.one(["liked", "heLiked"]), { A, X });
}

function describe(teller: Teller, A: Features, X: Features): void {
  teller.say(teller.one(["old", "fresh", "lovedOwn", "looksGood"]), { A, X });
}

/** Questions of somebody about all things, in random order. */
function askAll(teller: Teller, holders: readonly (readonly [holder: Features, thing: Features])[]): void {
  for (const [A, X] of teller.some(holders, holders.length)) {
    const T = teller.asker();
    const way = teller.number(1, 3);
    if (way === 1) {
      teller.say("asksWho", { T, X });
      teller.say("saysHave", { A, X });
    } else if (way === 2) {
      teller.say("asksColour", { T, X });
      teller.say("saysColour", { A, X });
    } else teller.say("nowHad", { A, X });
  }
}

/** Each of two people gives something to somebody. */
function gift(teller: Teller): void {
  const [A, B, C] = teller.people(3) as Three;
  const [X, Y] = teller.things(2) as Two;
  teller.say("friends", { A, B, C });
  get(teller, A, X);
  get(teller, B, Y);
  if (teller.happens(0.5)) describe(teller, A, X);
  if (teller.happens(0.5)) describe(teller, B, Y);
  const [first, second] = [teller.one([B, C]), teller.one([A, C])];
  for (const [giver, thing, receiver] of [
    [A, X, first],
    [B, Y, second],
  ] as const) {
    // oxfmt-ignore
    teller.say("wants", { A: giver, X: thing, B: receiver });
    teller.say("soGave", { A: giver, X: thing, B: receiver });
    teller.say(teller.one(["thanked", "wasGlad"]), { A: giver, B: receiver });
  }
  askAll(teller, [[first, X], [second, Y]]); // oxfmt-ignore
}

/** Two people swap what they have. */
function swap(teller: Teller): void {
  const [A, B] = two(teller);
  const [X, Y] = teller.things(2) as Two;
  get(teller, A, X);
  get(teller, B, Y);
  describe(teller, A, X);
  describe(teller, B, Y);
  teller.say("swapped", { A, X, B, Y });
  teller.say("andHad", teller.happens(0.5) ? { A, X: Y, B, Y: X } : { A: B, X, B: A, Y });
  askAll(teller, [[A, Y], [B, X]]); // oxfmt-ignore
}

/** Something is lent and comes back. Who has it and whose it is are not the same. */
function loan(teller: Teller): void {
  const [A, B] = two(teller);
  const [X, Y] = teller.things(2) as Two;
  get(teller, A, X);
  get(teller, B, Y);
  const isFirst = teller.happens(0.5);
  const [owner, thing, other, kept] = isFirst ? [A, X, B, Y] : [B, Y, A, X];
  teller.say("lends", { A: owner, X: thing, B: other });
  teller.say("asksWho", { T: teller.asker(), X: thing });
  teller.say("saysHave", { A: other, X: thing });
  teller.say("asksWhose", { T: teller.asker(), X: thing });
  teller.say("theyBelong", { A: owner, B: other, X: thing });
  if (teller.happens(0.5)) {
    teller.say("needs", { A: owner, X: thing });
    teller.say("soReturned", { A: owner, B: other, X: thing });
  } else teller.say("returned", { A: owner, B: other, X: thing });
  teller.say("belong", { A: other, X: kept });
  askAll(teller, [[owner, thing], [other, kept]]); // oxfmt-ignore
}

/** Two things are left somewhere and found again. */
function lost(teller: Teller): void {
  const [home, ...places] = placesOf(teller, 3) as Three;
  const [A, B] = two(teller, [home]);
  const things = teller.things(2) as Two;
  const parts = [A, B].map((person, n) => ({ A: person, X: things[n]!, P: places[n]! }));
  for (const { A: person, X } of parts) get(teller, person, X);
  for (const part of teller.some(parts, 2)) teller.say("left", part);
  for (const part of teller.some(parts, 2)) teller.say("wasAt", part);
  for (const part of teller.some(parts, 2)) {
    describe(teller, part.A, part.X);
    if (teller.happens(0.5)) teller.say("foundThere", part);
    else {
      teller.say("needs", part);
      teller.say("wentBack", part);
    }
  }
  askAll(teller, parts.map(({ A: person, X }) => [person, X])); // oxfmt-ignore
}

/** Two things are hidden, and somebody asks where they are. */
function hiding(teller: Teller): void {
  const [A, B] = two(teller);
  const things = teller.things(2) as Two;
  const spots = teller.some(HIDEOUTS, 2).map((hideout) => ({ hideout }));
  const parts = [A, B].map((person, n) => ({ A: person, X: things[n]!, U: spots[n]! }));
  for (const { A: person, X } of parts) get(teller, person, X);
  for (const part of teller.some(parts, 2)) teller.say("puts", part);
  for (const part of teller.some(parts, 2)) {
    if (teller.happens(0.4)) teller.say("isUnder", part);
    else {
      teller.say("asksWhere", { T: teller.asker(), X: part.X });
      teller.say("saysUnder", { ...part, A: teller.one([A, B]) });
    }
  }
  for (const part of teller.some(parts, 2)) teller.say("looked", part);
  askAll(teller, parts.map(({ A: person, X }) => [person, X])); // oxfmt-ignore
}

/** A list to buy, that comes back two or three times. */
function shopping(teller: Teller): void {
  const [A, B] = two(teller);
  const L = items(teller.some(GOODS, teller.number(3, 5)));
  teller.say("orders", { A, B, L });
  teller.say("askShop", { B, L });
  teller.say("bringsHome", { B, L });
  teller.say("didYou", { A, L });
  teller.say("yes", { B });
}

/** A song of sounds without commas, that others sing too. */
function song(teller: Teller): void {
  const [A, B] = two(teller);
  const S = items(teller.some(SOUNDS, teller.number(3, 5)));
  const [X, Y] = teller.things(2) as Two;
  teller.say("sang", { A, S });
  get(teller, A, X);
  teller.say("sangToo", { B, S });
  get(teller, B, Y);
  teller.say("together", { S });
  teller.say("singerWas", { A });
  describe(teller, ...teller.one([[A, X], [B, Y]] as const)); // oxfmt-ignore
  askAll(teller, [[A, X], [B, Y]]); // oxfmt-ignore
  if (teller.happens(0.5)) teller.say("together", { S });
}

/** Two people have several of something; more come, and some are eaten. */
function counting(teller: Teller): void {
  const [A, B] = two(teller);
  const [first, second] = teller.some(COUNTED, 2).map((item): Features => ({ item })) as Two;
  const counts = new Map([[A, teller.number(2, 5)], [B, teller.number(2, 5)]]); // oxfmt-ignore
  const word = (count: number): Features => ({ count: NUMBERS[count - 1]! });
  const number = (person: Features) => word(counts.get(person)!);
  teller.say("bothSome", { A, B, N: number(A), M: number(B), I: first, J: second });
  for (let round = 0; round < 2; round++)
    for (const person of teller.some([A, B], 2)) {
      const I = person === A ? first : second;
      const count = counts.get(person)!;
      const by = count > 2 && teller.happens(0.4) ? -teller.number(1, Math.min(3, count - 2)) : teller.number(1, 3);
      const isPossible = count + by <= NUMBERS.length;
      if (isPossible) {
        teller.say(by < 0 ? "ate" : "foundMore", { A: person, M: word(Math.abs(by)) });
        counts.set(person, count + by);
      }
      const way = isPossible ? teller.number(1, 3) : 3;
      if (way === 1) teller.say("nowSome", { A: person, K: number(person), I });
      else if (way === 2) teller.say("nowNamed", { A: person, K: number(person), I });
      else {
        teller.say("howMany", { T: teller.asker(), A: person, I });
        teller.say("saysMany", { A: person, K: number(person) });
      }
    }
}

/** Two animals with names, which run away and are called. */
function pets(teller: Teller): void {
  const [home, ...places] = placesOf(teller, 3) as Three;
  const [A, B] = two(teller, [home]);
  const kinds = teller.some(ANIMALS, 2);
  const names = teller.some(PETS, 2);
  const animals = kinds.map((kind, n): Features => ({ kind, pet: names[n]! })) as Two;
  const parts = [A, B].map((person, n) => ({ A: person, D: animals[n]!, P: places[n]! }));
  teller.say("keeps", { A, B, D: animals[0], E: animals[1] });
  for (const part of teller.some(parts, 2)) teller.say(teller.one(["called", "calledOf"]), part);
  for (const part of teller.some(parts, 2)) {
    teller.say("ran", part);
    teller.say("calls", part);
    teller.say("foundPet", part);
  }
  for (const part of teller.some(parts, 2)) {
    teller.say("asksPet", { T: teller.asker(), ...part });
    teller.say("saysPet", part);
  }
}

/** A way over three places, which somebody else goes too. */
function trip(teller: Teller): void {
  const [home, ...stops] = placesOf(teller, 4);
  const [P, Q, R] = stops as Three;
  const [A, B] = two(teller, [home!]);
  const [X, Y] = teller.things(2) as Two;
  get(teller, A, X);
  teller.say("went", { A, P, Q, R });
  get(teller, B, Y);
  teller.say("whereWere", { B });
  teller.say("iWas", { A, P, Q, R });
  teller.say("sameWay", { B, P, Q, R });
  askAll(teller, [[A, X], [B, Y]]); // oxfmt-ignore
}

/** The kinds of stories. */
export const KINDS: readonly Kind[] = [gift, swap, loan, lost, hiding, shopping, song, counting, pets, trip];
