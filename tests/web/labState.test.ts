import { describe, expect, test } from "@jest/globals";

import { formatAddress, parseAddress } from "../../web/demo/lab/shell/address.js";
import { choice, flag, number, text } from "../../web/demo/lab/shell/field.js";
import { latest } from "../../web/demo/lab/shell/latest.js";
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
