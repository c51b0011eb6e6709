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
  /**
   * The address of a text: the fields, a line each with name, offset, letter of the type, and the offset of an optional's
   * flag, or 0.
   */
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

/** How a field of each type is read and written; the letters are those of cpp/bindings/call_fields.h. */
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
  defineFields(Class.prototype as object, memory.text(Class.fields()).trimEnd().split("\n"), memory);
  const struct = new Class() as T & CallStruct;
  struct.at = struct.address();
  return Object.seal(struct); // to set a property that C++ lacks is a TypeError
}

/** Gives an object, which knows the address `at`, a property for each line of a text of fields. */
export function defineFields(object: object, lines: readonly string[], memory: Memory): void {
  for (const line of lines) {
    const [name, offset, letter, flag] = line.split(" ") as [string, string, string, string];
    const accessor = ACCESSORS[letter]!(memory, Number(offset));
    Object.defineProperty(object, name, flag === "0" ? accessor : withFlag(accessor, memory, Number(flag)));
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
