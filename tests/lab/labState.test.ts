import { describe, expect, test } from "@jest/globals";
import { UnsupportedError } from "headwise";

import { asFailure } from "../../web/demo/lab/engine/asFailure.js";
import { fitting, formatAddress, parseAddress } from "../../web/demo/lab/shell/address.js";
import { choice, flag, number, text } from "../../web/demo/lab/shell/field.js";
import { inWords } from "../../web/demo/lab/shell/failure.js";
import { latest } from "../../web/demo/lab/shell/latest.js";
import { bytes, counted, decimal, many, milliseconds, significant } from "../../web/demo/lab/shell/numbers.js";
import { State } from "../../web/demo/lab/shell/state.js";

const fields = {
  causal: flag(false),
  length: number(16, { min: 4, max: 48 }),
  form: choice("rows", ["rows", "columns"]),
  words: text("the park", 20),
};

describe("an address", () => {
  test.each(["#/matrix", "#/matrix?causal=true&words=a+b%3Fc"])("%s is written as it was read", (hash) => {
    expect(formatAddress(parseAddress(hash))).toBe(hash);
  });

  test("of nothing has no room", () => {
    expect(parseAddress("").room).toBe("");
    expect(parseAddress("#").room).toBe("");
  });

  test("has the room in its own letters: a notice names one that is not there", () => {
    expect(parseAddress("#/W%C3%B6rter").room).toBe("Wörter");
    expect(parseAddress("#/50%").room).toBe("50%");
  });
});

test("a text that is too long is cut between two signs, not in an emoji", () => {
  const astronaut = "👩🏽‍🚀";
  for (let longest = 0; longest < 2 * astronaut.length + 2; longest++) {
    const kept = text("", longest).parse(`a${astronaut.repeat(2)}`)!;
    expect(["", "a", `a${astronaut}`, `a${astronaut.repeat(2)}`]).toContain(kept);
    expect(kept.length).toBeLessThanOrEqual(longest);
  }
});

test("the hint of an error does not send a visitor to a folder that is not there", () => {
  const error = new UnsupportedError("no GPU adapter is available", { hint: "Use backend “wasm”." });
  expect(error.hint).toContain("node_modules");
  expect(inWords(error)).toBe("no GPU adapter is available. Use backend “wasm”.");
  expect(asFailure(error)).toEqual({ message: error.message, hint: "Use backend “wasm”." });
  expect(asFailure(new UnsupportedError("nothing to advise"))).toEqual({ message: "nothing to advise" });
});

describe("an address that is too long", () => {
  const long = "park ".repeat(10_000);

  test("lacks the longest settings, and names them", () => {
    const { query, leftOut } = fitting(
      new URLSearchParams({ words: long, causal: "true", more: `${long}!`, head: "3" }),
    );
    expect(leftOut).toEqual(["more", "words"]);
    expect(query.toString()).toBe("causal=true&head=3");
  });

  test("lacks nothing if it fits", () => {
    const given = new URLSearchParams({ words: "the park", causal: "true" });
    expect(fitting(given)).toEqual({ query: given, leftOut: [] });
  });
});

describe("numbers for readers", () => {
  const sizes = Array.from({ length: 60 }, (_, power) => 10 ** (power / 2 - 12)).flatMap((size) => [size, 9.97 * size]);

  test("never have an exponent", () => {
    for (const size of sizes)
      for (const value of [size, -size])
        for (const digits of [1, 2, 3, 6])
          expect([decimal(value, digits), significant(value, digits)].join(" ")).toMatch(/^[−\d.,]+ [−\d.,]+$/);
    for (const size of sizes) expect(`${bytes(size)} ${milliseconds(size)} ${many(size)}`).not.toMatch(/\de/);
  });

  test("are rounded to the digits asked for, and keep their size", () => {
    expect(significant(1.3e-7, 2)).toBe("0.00000013");
    expect(significant(2821.4)).toBe("2,820");
    expect(significant(-0.00456, 2)).toBe("−0.0046");
    expect([significant(0), significant(-0), significant(-Infinity)]).toEqual(["0", "0", "−∞"]);
    for (const size of sizes) {
      const read = Number(significant(size, 3).replaceAll(",", ""));
      expect(Math.abs(read - size)).toBeLessThanOrEqual(0.005 * size);
    }
    expect([bytes(99.7 * 1024), bytes(2.5 * 1024), bytes(1)]).toEqual(["100\u00a0KB", "2.5\u00a0KB", "1 byte"]);
  });

  test("of things are singular or plural", () => {
    expect(counted(1, "token")).toBe("1 token");
    expect(counted(0, "token")).toBe("0 tokens");
    expect(counted(3000, "entry", "entries")).toBe("3,000 entries");
  });
});

describe("a failure in words", () => {
  test("ends once", () => {
    expect(inWords(new Error("Failed."))).toBe("Failed.");
    expect(inWords(new Error("Failed"))).toBe("Failed.");
    expect(inWords("no")).toBe("no.");
  });

  test("has the hint of the error", () => {
    expect(inWords(Object.assign(new Error("key is missing"), { hint: "give a key" }))).toBe(
      "key is missing. give a key.",
    );
  });
});

describe("a room's state", () => {
  test("survives the way through the address", () => {
    const state = new State(fields);
    state.set({ causal: true, length: 7, words: "ä & ö?" });
    const { query } = parseAddress(formatAddress({ room: "x", query: state.query }));
    expect(new State(fields, query).values).toEqual({ causal: true, length: 7, form: "rows", words: "ä & ö?" });
  });

  test("leaves out of the address what nobody changed", () => {
    const state = new State(fields);
    expect(state.query.toString()).toBe("");
    state.set({ length: 20 });
    state.set({ length: 16 });
    expect(state.query.toString()).toBe("");
  });

  test("brings numbers into range and ignores what it does not know", () => {
    const query = new URLSearchParams("length=1e9&form=spirals&causal=perhaps&other=1");
    expect(new State(fields, query).values).toEqual({ causal: false, length: 48, form: "rows", words: "the park" });
    expect(new State(fields, new URLSearchParams("length=soon")).values.length).toBe(16);
    expect(new State(fields, new URLSearchParams({ words: "x".repeat(99) })).values.words).toHaveLength(20);
  });

  test.each([
    [{ min: 2, max: 6 }, "2.5", 3],
    [{ min: 2, max: 7, step: 2 }, "6.9", 6],
    [{ min: 0.5, max: 6, step: 0.1 }, "0.7333", 0.7],
    [{ min: 0, max: 1, step: 0.3 }, "1", 0.9],
    [{ min: -6, max: 6, step: 0.5 }, "-0.26", -0.5],
  ])("takes a number of an address on a step, as the slider does: %j, %s", (form, given, taken) => {
    expect(number(form.min, form).parse(given)).toBe(taken);
  });

  test("tells of real changes only", () => {
    const state = new State(fields);
    let heard = 0;
    state.onChange(() => ++heard);
    state.set({ length: 16 });
    expect(heard).toBe(0);
    state.set({ length: 17, causal: true });
    expect(heard).toBe(1);
    state.read(new URLSearchParams());
    expect(heard).toBe(2);
    expect(state.values.length).toBe(16);
  });
});

test("of work asked for while it runs, only the last is done", async () => {
  let started = 0;
  let finish = () => {};
  const work = latest(
    () => {
      ++started;
      return new Promise<void>((resolve) => (finish = resolve));
    },
    () => {},
  );
  work();
  work();
  work();
  expect(started).toBe(1);
  finish();
  await new Promise(setImmediate);
  expect(started).toBe(2);
  finish();
  await new Promise(setImmediate);
  expect(started).toBe(2);
});

test("work that fails is told, and the next one runs", async () => {
  const failures: unknown[] = [];
  let runs = 0;
  const work = latest(
    () => (++runs === 1 ? Promise.reject(new Error("no")) : Promise.resolve()),
    (error) => failures.push((error as Error).message),
  );
  work();
  await new Promise(setImmediate);
  work();
  await new Promise(setImmediate);
  expect(failures).toEqual(["no"]);
  expect(runs).toBe(2);
});

test("a failure is not told if the work has been asked for again", async () => {
  const failures: unknown[] = [];
  let runs = 0;
  const work = latest(
    () => (++runs === 1 ? Promise.reject(new Error("the engine was closed")) : Promise.resolve()),
    (error) => failures.push(error),
  );
  work();
  work();
  await new Promise(setImmediate);
  expect(runs).toBe(2);
  expect(failures).toEqual([]);
});
