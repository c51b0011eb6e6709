import { describe, expect, test } from "@jest/globals";

import { DisposedError, type EmptyRowError, HeadwiseError, OutOfMemoryError } from "../../web/src/base/errors.js";
import { WasmCore } from "../../web/src/wasm/core.js";
import type { WasmModule } from "../../web/src/wasm/module.js";
import { thrownBy } from "./thrownBy.js";

const FINISHED = 64;
const STATUS = 96;
const MESSAGE = 128;
const ROWS = 256;
const FIELDS = 448;
const NAME = 480;
const CALL = 512;
const FIRST_FREE = 1024;

/** A module whose engine behaves as the test says. It counts the memory that it lends. */
function fakeModule({ code = 0, message = "", rows = [] as number[], capacity = 4096 } = {}) {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const lent = new Map<number, number>();
  let next = FIRST_FREE;
  let ended = 0;
  new Uint8Array(memory.buffer).set(new TextEncoder().encode(`${message}\0`), MESSAGE);
  new Int32Array(memory.buffer).set(rows, ROWS / 4);
  new Int32Array(memory.buffer)[STATUS / 4] = code;
  // one field, a word at 0 that always has a value, and the end of the list
  new Int32Array(memory.buffer).set([NAME, 0, "w".charCodeAt(0), 0, 0, 0], FIELDS / 4);
  new Uint8Array(memory.buffer).set(new TextEncoder().encode("size\0"), NAME);
  const finish = (value: 0 | 1) => {
    Atomics.store(new Int32Array(memory.buffer), FINISHED / 4, value);
    Atomics.notify(new Int32Array(memory.buffer), FINISHED / 4);
  };
  finish(1);
  const callClass = () =>
    class {
      static fields = () => FIELDS;
      address = () => CALL;
    };
  class Engine {
    readonly finished = FINISHED;
    readonly threads = 1;
    readonly status = STATUS;
    readonly message = MESSAGE;
    readonly rows = ROWS;
    readonly rowCount = rows.length / 3;
  }
  const calls = new Proxy({}, { get: callClass }) as Record<string, ReturnType<typeof callClass>>;
  const module = new Proxy(
    {
      allocate(bytes: number) {
        if (bytes > capacity) return 0;
        const address = next;
        next += Math.ceil((bytes + 1) / 64) * 64;
        lent.set(address, bytes);
        return address;
      },
      release: (address: number) => void lent.delete(address),
      Engine,
      PThread: { terminateAllThreads: () => void ++ended },
    },
    { get: (known, name: string) => (known as Record<string, unknown>)[name] ?? calls[name] },
  ) as unknown as WasmModule;
  return { memory, module, lent, finish, ended: () => ended };
}

function engineOf(fake: ReturnType<typeof fakeModule>) {
  return new WasmCore(fake.module, fake.memory, 1, false);
}

describe("a call", () => {
  test("has happened when it returns, on a thread that may block", () => {
    const fake = fakeModule();
    const engine = engineOf(fake);
    const result = engine.call("op", (arena) => {
      const address = arena.copy(new Float32Array([1, 2, 3]));
      return () => engine.heap.read(address, "float32", 3);
    });
    expect(result).toEqual(new Float32Array([1, 2, 3]));
    expect(fake.lent.size).toBe(0);
  });

  test("is a promise where another thread computes, and its arrays live until then", async () => {
    const fake = fakeModule();
    const result = engineOf(fake).call("op", (arena) => {
      arena.room("float32", 4);
      fake.finish(0);
      return () => "done";
    });
    expect(result).toBeInstanceOf(Promise);
    expect(fake.lent.size).toBe(1);
    setTimeout(() => fake.finish(1), 5);
    expect(await result).toBe("done");
    expect(fake.lent.size).toBe(0);
  });

  test("that another thread computes also ends where the engine has no Atomics.waitAsync", async () => {
    const { waitAsync } = Atomics as { waitAsync?: unknown };
    try {
      Object.assign(Atomics, { waitAsync: undefined });
      const fake = fakeModule();
      const result = engineOf(fake).call("op", () => {
        fake.finish(0);
        return () => "done";
      });
      setTimeout(() => fake.finish(1), 5);
      expect(await result).toBe("done");
    } finally {
      Object.assign(Atomics, { waitAsync });
    }
  });

  test.each([
    [1, "ShapeError", "INVALID_SHAPE"],
    [2, "OptionError", "INVALID_OPTION"],
    [3, "UnsupportedError", "UNSUPPORTED"],
    [4, "EmptyRowError", "EMPTY_ROW"],
    [5, "OutOfMemoryError", "OUT_OF_MEMORY"],
    [6, "OptionError", "CORRUPT_DATA"],
    [99, "HeadwiseError", "INTERNAL"],
  ])("whose status is %i throws a %s with the message of C++, and frees its arrays", (code, name, errorCode) => {
    const fake = fakeModule({ code, message: "rule, got 3" });
    const error = thrownBy(() =>
      engineOf(fake).call("op", (arena) => {
        arena.room("float32", 4);
        return () => "unreachable";
      }),
    );
    expect(error).toMatchObject({ name, code: errorCode, message: "op: rule, got 3" });
    expect(fake.lent.size).toBe(0);
  });

  test("with empty rows tells them", () => {
    const fake = fakeModule({ code: 4, rows: [0, 1, 2, 3, 4, 5] });
    const error = thrownBy(() => engineOf(fake).call("op", () => () => 0)) as EmptyRowError;
    expect(error.rows).toEqual([
      { batch: 0, head: 1, query: 2 },
      { batch: 3, head: 4, query: 5 },
    ]);
  });

  test("whose arrays do not fit is out of memory, frees those that did, and leaves the engine usable", () => {
    const fake = fakeModule({ capacity: 100 });
    const engine = engineOf(fake);
    const error = thrownBy(() =>
      engine.call("op", (arena) => {
        arena.room("float32", 10);
        arena.room("float32", 100);
        return () => 0;
      }),
    );
    expect(OutOfMemoryError.is(error)).toBe(true);
    expect(error.message).toMatch(/^op: an array of 400 bytes does not fit/);
    expect(fake.lent.size).toBe(0);
    expect(engine.call("op", () => () => "fine")).toBe("fine");
  });

  test("whose arrays are small asks for no memory, and a large array is given back", () => {
    const fake = fakeModule({ capacity: 2 ** 17 });
    const engine = engineOf(fake);
    const kept = fake.lent.size;
    const addresses: number[] = [];
    const lent: number[] = [];
    const place = () =>
      engine.call("op", (arena) => {
        for (const length of [4, 0, 4096, 4097]) {
          addresses.push(arena.room("float32", length));
          lent.push(fake.lent.size - kept);
        }
        return () => 0;
      });
    void place();
    void place();
    expect(lent).toEqual([0, 0, 0, 1, 0, 0, 0, 1]);
    expect(new Set(addresses.slice(0, 4)).size).toBe(4);
    expect(addresses.slice(4, 7)).toEqual(addresses.slice(0, 3));
    expect(fake.lent.size).toBe(kept);
  });

  test("with more small arrays than the kept memory holds gets memory for the rest", () => {
    const fake = fakeModule({ capacity: 2 ** 17 });
    const engine = engineOf(fake);
    const kept = fake.lent.size;
    const during = engine.call("op", (arena) => {
      for (let n = 0; n < 6; ++n) arena.room("float32", 4096);
      const lent = fake.lent.size - kept;
      return () => lent;
    });
    expect([during, fake.lent.size]).toEqual([2, kept]);
  });

  test("that runs when another thread stops rejects, and so do all later ones", async () => {
    const fake = fakeModule();
    const engine = engineOf(fake);
    fake.finish(0);
    const call = engine.call("first", () => () => "a result") as Promise<string>;
    engine.crashed("RuntimeError: unreachable");
    await expect(call).rejects.toMatchObject({
      code: "INTERNAL",
      message: "first: the engine stopped in first: RuntimeError: unreachable",
    });
    expect(fake.ended()).toBe(1);
    expect(thrownBy(() => engine.call("second", () => () => 1)).message).toMatch(
      /^second: the engine stopped in first/,
    );
  });

  test("that traps ends the engine: this call and all later ones say where it stopped", () => {
    const fake = fakeModule();
    const engine = engineOf(fake);
    const trap = new WebAssembly.RuntimeError("unreachable");
    const stop = () =>
      engine.call("first", () => {
        throw trap;
      });
    expect(thrownBy(stop)).toMatchObject({ code: "INTERNAL", cause: trap, name: "HeadwiseError" });
    expect(fake.ended()).toBe(1);
    const later = thrownBy(() => engine.call("second", () => () => 0));
    expect(HeadwiseError.is(later)).toBe(true);
    expect(later.message).toBe("second: the engine stopped in first: RuntimeError: unreachable");
  });

  test("in flight when the engine ends rejects with the reason", async () => {
    const fake = fakeModule();
    const engine = engineOf(fake);
    const result = engine.call("op", () => {
      fake.finish(0);
      return () => 0;
    }) as Promise<number>;
    engine.end((operation) => new DisposedError(`${operation}: gone`));
    engine.end(() => new DisposedError("a second end is none"));
    await expect(result).rejects.toMatchObject({ name: "DisposedError", message: "op: gone" });
    expect(fake.ended()).toBe(1);
  });
});

test("a property that C++ does not have cannot be set by mistake", () => {
  const call = engineOf(fakeModule()).struct("AttentionCall");
  expect(() => Object.assign(call, { quary: 1 })).toThrow(TypeError);
});
