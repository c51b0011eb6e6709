import type { MemoryViews } from "./memoryViews.js";

/** What a call struct and its class give: embind.cpp declares them. */
export interface CallStruct {
  /** The address of the struct. */
  address(): number;
  /** The address, kept. */
  at: number;
}

export interface CallClass<T> {
  new (): T;
  /** The address of its fields: a list of `Field` of cpp/bindings/fields.h. */
  fields(): number;
}

/** The memory that the structs lie in. */
interface Memory {
  readonly views: MemoryViews;
  text(address: number): string;
}

interface Accessor {
  get(this: CallStruct): number;
  set(this: CallStruct, value: number): void;
}

const WORD = 2 ** 32;

/** How a field of each type is read and written; the letters are those of cpp/bindings/fields.h. */
const ACCESSORS: Readonly<Record<string, (memory: Memory, offset: number) => Accessor>> = {
  b: (memory, offset) => ({
    get() {
      return memory.views.bytes[this.at + offset]!;
    },
    set(value) {
      memory.views.bytes[this.at + offset] = value;
    },
  }),
  w: (memory, offset) => ({
    get() {
      return memory.views.words[(this.at + offset) >>> 2]!;
    },
    set(value) {
      memory.views.words[(this.at + offset) >>> 2] = value;
    },
  }),
  l: (memory, offset) => ({
    get() {
      const { words } = memory.views;
      const place = (this.at + offset) >>> 2;
      return words[place]! + WORD * words[place + 1]!;
    },
    set(value) {
      const { words } = memory.views;
      const place = (this.at + offset) >>> 2;
      words[place] = value;
      words[place + 1] = Math.floor(value / WORD);
    },
  }),
  f: (memory, offset) => ({
    get() {
      return memory.views.floats[(this.at + offset) >>> 2]!;
    },
    set(value) {
      memory.views.floats[(this.at + offset) >>> 2] = value;
    },
  }),
  d: (memory, offset) => ({
    get() {
      return memory.views.doubles[(this.at + offset) >>> 3]!;
    },
    set(value) {
      memory.views.doubles[(this.at + offset) >>> 3] = value;
    },
  }),
};

/** Makes the struct of a class, with a property for each field that reads and writes it in memory. */
export function structWithFields<T extends object>(Class: CallClass<T>, memory: Memory): T {
  defineFields(Class.prototype as object, Class.fields(), memory);
  const struct = new Class() as T & CallStruct;
  struct.at = struct.address();
  return Object.seal(struct); // to set a property that C++ lacks is a TypeError
}

/** The entries of a list in memory: so many words each. The last one, whose first word is 0, is left out. */
export function* entriesAt(address: number, words: number, memory: Memory): Generator<Uint32Array> {
  const all = memory.views.words;
  for (let at = address >>> 2; all[at] !== 0; at += words) yield all.subarray(at, at + words);
}

/** A field of a call: where it lies, the letter of its type, and where an optional says that it has a value, or 0. */
interface Field {
  readonly name: string;
  readonly offset: number;
  readonly letter: string;
  readonly flag: number;
}

/**
 * The fields of a list in memory, also those of structs in it.
 *
 * @param prefix - What their names begin with.
 * @param base - Where the struct that has them begins.
 */
export function* fieldsAt(list: number, memory: Memory, prefix = "", base = 0): Generator<Field> {
  for (const [word, place, letter, flag, inside] of entriesAt(list, 5, memory)) {
    const [name, offset] = [prefix + memory.text(word!), base + place!];
    if (letter === 0) yield* fieldsAt(inside!, memory, name, offset);
    else yield { name, offset, letter: String.fromCharCode(letter!), flag: flag! && offset + flag };
  }
}

/** Gives an object, which knows the address `at`, a property for each field of a list. */
export function defineFields(object: object, list: number, memory: Memory): void {
  for (const { name, offset, letter, flag } of fieldsAt(list, memory)) {
    const accessor = ACCESSORS[letter]!(memory, offset);
    Object.defineProperty(object, name, flag === 0 ? accessor : withFlag(accessor, memory, flag));
  }
}

/** Of an optional, which is 0 without a value. To write it says that it has one. */
function withFlag(accessor: Accessor, memory: Memory, flag: number): Accessor {
  return {
    get() {
      return memory.views.bytes[this.at + flag] === 0 ? 0 : accessor.get.call(this);
    },
    set(value) {
      accessor.set.call(this, value);
      memory.views.bytes[this.at + flag] = 1;
    },
  };
}
