// The part of Jest that the tests of WebGPU use, for a runtime in which Jest does not run. `runAll` runs what was described.

import { expect as jestExpect } from "expect";

export const expect = jestExpect;

/** A block of `describe`. */
class Block {
  before = [];
  after = [];
  beforeEach = [];
  afterEach = [];
  begun = false;
  left = 0;

  constructor(name, parent, isSkipped) {
    this.name = name;
    this.parent = parent;
    this.isSkipped = isSkipped;
  }

  /** All blocks around it, the outermost first, and itself. */
  get path() {
    return this.parent ? [...this.parent.path, this] : [this];
  }
}

let block = new Block("", undefined, false);
const tests = [];

const described = (isSkipped) => (name, define) => {
  const outer = block;
  block = new Block(name, outer, isSkipped || outer.isSkipped);
  define();
  block = outer;
};

const tested = (isSkipped) => (name, run) => {
  const full = [...block.path.map((each) => each.name).filter(Boolean), name].join(" › ");
  tests.push({ name: full, run, block, isSkipped: isSkipped || block.isSkipped });
  for (const each of block.path) each.left += 1;
};

/** Jest's tables: a name may have %s and the like, or $name for a property of the row. */
const overRows = (one) => (rows) => (name, run) => {
  for (const row of rows) {
    const values = Array.isArray(row) ? row : [row];
    let next = 0;
    const named = name
      .replace(/%[sdipjo]/g, () => String(values[next++]))
      .replace(/\$(\w+)/g, (_, key) => String(values[0]?.[key]));
    one(named, (...more) => run(...values, ...more));
  }
};

export const describe = Object.assign(described(false), { each: overRows(described(false)), skip: described(true) });
export const test = Object.assign(tested(false), { each: overRows(tested(false)), skip: tested(true) });
export const beforeAll = (work) => block.before.push(work);
export const afterAll = (work) => block.after.push(work);
export const beforeEach = (work) => block.beforeEach.push(work);
export const afterEach = (work) => block.afterEach.push(work);

/** Runs all tests, one after the other. Returns their counts; `say` gets a line for each that fails. */
export async function runAll(say, milliseconds) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const each of tests) {
    if (each.isSkipped) counts.skipped += 1;
    else {
      const error = await failureOf(each, milliseconds);
      counts[error === undefined ? "passed" : "failed"] += 1;
      if (error !== undefined) say(`FAILED ${each.name}\n  ${error}`);
    }
    for (const around of [...each.block.path].reverse()) {
      around.left -= 1;
      if (around.left > 0 || !around.begun) continue;
      for (const work of around.after) await work();
    }
  }
  return counts;
}

async function failureOf({ run, block: own }, milliseconds) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${milliseconds / 1000} s`)), milliseconds);
  });
  try {
    await Promise.race([late, inBlocks(own.path, run)]);
    return undefined;
  } catch (error) {
    return String(error?.message ?? error);
  } finally {
    clearTimeout(timer);
  }
}

async function inBlocks(path, run) {
  for (const each of path.filter(({ begun }) => !begun)) {
    each.begun = true;
    for (const work of each.before) await work();
  }
  for (const each of path) for (const work of each.beforeEach) await work();
  try {
    await run();
  } finally {
    for (const each of [...path].reverse()) for (const work of each.afterEach) await work();
  }
}
