import { FORMS } from "./forms.js";
import { read, termsOf, type Roles } from "./pattern.js";
import { sexOf, type Features } from "./shapes.js";
import { World } from "./world.js";

const PEOPLE = "ABC";
const PATTERNS = Object.values(FORMS).map((form) => ({ terms: termsOf(form), says: form.says }));

/** What the judge says of a sentence. */
export interface Verdict {
  readonly words: readonly string[];
  /** Whether it is a sentence of the grammar. */
  readonly isSentence: boolean;
  /** Whether it can be true after the sentences before it. */
  readonly isTrue: boolean;
  /** Whom and what pronouns mean after it: a name and a noun. */
  readonly person: string | undefined;
  readonly thing: string | undefined;
}

/** Reads a story word by word, sentence by sentence, and checks each sentence against those before it. */
export function judged(words: readonly string[]): readonly Verdict[] {
  const world = new World();
  return sentencesOf(words).map((sentence) => {
    const readings = PATTERNS.flatMap(({ terms, says }) => {
      const roles = read(terms, sentence);
      return roles ? [{ roles, says }] : [];
    });
    const isTrue = readings.some(({ roles, says }) => holds(world, roles, says));
    const { subject: person, thing } = world;
    return { words: sentence, isSentence: readings.length > 0, isTrue, person, thing: thing?.noun };
  });
}

/** The sentences of a text. One that begins with a quote goes on after it. */
export function sentencesOf(words: readonly string[]): readonly (readonly string[])[] {
  const sentences: string[][] = [];
  let sentence: string[] = [];
  words.forEach((word, at) => {
    sentence.push(word);
    const isOpen = sentence.lastIndexOf("“") > sentence.lastIndexOf("”");
    const isQuoteEnd = word === "”" && sentence[0] !== "“" && /^[.?!]$/.test(words[at - 1]!);
    if (isQuoteEnd || (!isOpen && /^[.?!]$/.test(word))) {
      sentences.push(sentence);
      sentence = [];
    }
  });
  return sentence.length > 0 ? [...sentences, sentence] : sentences;
}

/** Whether a sentence can be true: pronouns may mean anybody of that sex, first the one whom the story is about. */
export function holds(world: World, roles: Roles, says: string): boolean {
  const people = Object.keys(roles).filter((role) => PEOPLE.includes(role));
  for (const named of namings(world, roles, people)) {
    const all = { ...roles, ...named };
    if (!says.split("; ").every((statement) => states(world, all, statement))) continue;
    const [first] = people;
    if (first !== undefined) world.subject = all[first]!["name"];
    return true;
  }
  return false;
}

type Statement = (this: World, ...features: readonly Features[]) => boolean;

function states(world: World, roles: Roles, statement: string): boolean {
  const [name, ...letters] = statement.split(" ") as [string, ...string[]];
  const method = (world as unknown as Readonly<Record<string, Statement>>)[name]!;
  return method.apply(
    world,
    letters.map((letter) => roles[letter]!),
  );
}

/** All ways to give names to people who have none in the sentence. */
function namings({ cast, subject }: World, roles: Roles, people: readonly string[]): readonly Roles[] {
  const order = [...new Set([...(subject === undefined ? [] : [subject]), ...cast])];
  return people.reduce<readonly Roles[]>(
    (ways, role) => {
      const features = roles[role]!;
      if (features["name"] !== undefined) return ways;
      return ways.flatMap((way) =>
        order
          .filter((name) => sexOf(name) === features["sex"])
          .map((name) => ({ ...way, [role]: { ...features, name } })),
      );
    },
    [{}],
  );
}
