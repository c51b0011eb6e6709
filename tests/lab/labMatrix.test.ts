import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention, type ForwardOptions, type LayerOptions } from "headwise";

import type { Engine } from "../../web/demo/lab/engine/engine.js";
import type { Floats } from "../../web/demo/lab/engine/floats.js";
import { calculate } from "../../web/demo/lab/rooms/matrix/calculation.js";
import type { Form, Steps } from "../../web/demo/lab/rooms/matrix/steps.js";
import { defined } from "../../web/demo/lab/rooms/matrix/definition.js";
import { answerWords, ask, clock, HOURS, lookup } from "../../web/demo/lab/rooms/matrix/dictionary.js";
import { growthOf, growthWords, STATIONS, stationWords, toy } from "../../web/demo/lab/rooms/matrix/growth.js";
import { loopsWords, ofLoop, ofProducts, ofRecurrence, WIDTH } from "../../web/demo/lab/rooms/matrix/loops.js";
import { changedRows, concatenationWords, localWords, queryWords } from "../../web/demo/lab/rooms/matrix/mixing.js";
import { originOf, type Lights } from "../../web/demo/lab/rooms/matrix/origin.js";
import { nameOf, sceneOf, SHAPES, type Name, type Scene } from "../../web/demo/lab/rooms/matrix/parts.js";
import { edited, fields, headOf, inputsOf, ofSource, type Settings } from "../../web/demo/lab/rooms/matrix/settings.js";
import { EDITABLE, EXTENTS, extentOf, shapeWords } from "../../web/demo/lab/rooms/matrix/sizes.js";
import { CHANNELS, originOfX, PATCH, PATCHES_IN_ROW, SOURCES } from "../../web/demo/lab/rooms/matrix/source.js";
import { sourceWords } from "../../web/demo/lab/rooms/matrix/sourceWords.js";
import { percent } from "../../web/demo/lab/rooms/matrix/percent.js";
import { scoreStatistics, statisticsWords } from "../../web/demo/lab/rooms/matrix/variance.js";
import * as words from "../../web/demo/lab/rooms/matrix/words.js";
import { at, transposed, type Matrix } from "../../web/demo/lab/shell/matrix.js";
import { decimal } from "../../web/demo/lab/shell/numbers.js";
import { tableOf } from "../../web/demo/lab/shell/pastedTable.js";
import { State } from "../../web/demo/lab/shell/state.js";
import { faults } from "./labGrid.js";

let hw: Attention;
let engine: Engine;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  const forward = async (options: LayerOptions, x: Floats, call: Omit<ForwardOptions, "location">) => {
    const layer = await hw.multiHeadAttention(options);
    try {
      return await layer.forward(x, call);
    } finally {
      layer.dispose();
    }
  };
  engine = {
    forward,
    scaledDotProductAttention: hw.scaledDotProductAttention.bind(hw),
  } as unknown as Engine;
});
afterAll(() => hw.dispose());

const FIRST = new State(fields).values;
const settingsOf = (query: string) => new State(fields, new URLSearchParams(query)).values;
const FLAGS = ["scale", "causal", "excludeSelf", "softmax", "bias", "sameKeys"] as const;
const ENDS = {
  positions: [2, 4, 6],
  inputDim: [2, 5, 8],
  headDim: [1, 2, 4],
  valueDim: [1, 2, 4],
  numHeads: [1, 2, 4],
};

/** Every size at its ends and in its middle, with the others as they are first; and all at their ends. */
function* allSizes(): Generator<Partial<Settings>> {
  for (const [name, values] of Object.entries(ENDS)) for (const value of values) yield { [name]: value };
  for (const source of ["series", "image"] as const) yield ofSource(source);
  for (const end of [0, 2]) yield Object.fromEntries(Object.entries(ENDS).map(([name, values]) => [name, values[end]]));
}

const EVERY_COMBINATION = Array.from({ length: 2 ** FLAGS.length }, (_, bits) =>
  FLAGS.map((_flag, bit) => ((bits >> bit) & 1) === 1),
);
/** Eight combinations: of any two flags, every pair of values is among them, because their parities are of different bits. */
const EVERY_PAIR = Array.from({ length: 8 }, (_, bits) =>
  [1, 2, 4, 3, 5, 6].map((mask) => [1, 2, 4].filter((bit) => bits & mask & bit).length % 2 === 1),
);

/** With the sizes as they are first, all combinations of flags; with the others, each pair of flags. */
function* allSettings(): Generator<Settings> {
  const ofSizes = [...allSizes()].map((sizes) => [sizes, EVERY_PAIR] as const);
  let seen = 0;
  for (const [sizes, combinations] of [[{}, EVERY_COMBINATION] as const, ...ofSizes])
    for (const on of combinations) {
      const flags = Object.fromEntries(FLAGS.map((flag, n) => [flag, on[n]]));
      yield { ...FIRST, ...sizes, ...flags, head: 1 + (seen++ % 4) };
    }
}

/** The numbers of a sentence, without those of names such as K₁ and of “√3”. */
function numbersIn(sentence: string): number[] {
  return [...sentence.matchAll(/(?<![\w√.])[−(]*(\d[\d,]*(?:\.\d+)?)/g)].map(([text]) => read(text));
}

function read(text: string): number {
  return Number(text.replace(/[(),]/g, "").replace("−", "-"));
}

/** What no sentence may contain: wrong plurals, doubled words, numbers as computers write them. */
const FAULTS =
  /(?<![\d.,])1 (tokens|heads|weights|features|positions|layers|parameters|numbers|steps|bins)\b|\b(\w+) \2\b|\de[+-]\d|NaN|Infinity|undefined|(?<![\w])-\d|[^.]$/;

function expectPlain(...sentences: readonly string[]): void {
  expect(sentences.filter((sentence) => FAULTS.test(sentence))).toEqual([]);
}

/** Float32 rounds each of the few products of a step; the scores grow to about 40. */
const CLOSE = 1e-4;

function expectNear(found: Matrix, wanted: Matrix): void {
  expect([found.rows, found.columns]).toEqual([wanted.rows, wanted.columns]);
  const apart = found.data.map((value, i) => (value === wanted.data[i] ? 0 : Math.abs(value - wanted.data[i]!)));
  expect(Math.max(...apart)).toBeLessThan(CLOSE);
}

function expectSteps(found: Steps, wanted: Steps): void {
  for (const step of ["q", "k", "v", "y", "out"] as const) expectNear(found[step], wanted[step]);
  found.heads.forEach((head, n) => {
    for (const step of ["raw", "masked", "weights"] as const) expectNear(head[step], wanted.heads[n]![step]);
  });
}

describe("over all settings", () => {
  /** Every setting with its steps, computed by headwise in both forms. */
  async function eachScene(check: (scene: Scene, settings: Settings, both: Record<Form, Steps>) => void) {
    for (const settings of allSettings()) {
      const inputs = inputsOf(settings);
      const both = {
        rows: await calculate(engine, inputs, "rows"),
        columns: await calculate(engine, inputs, "columns"),
      };
      for (const form of ["rows", "columns"] as const)
        check(sceneOf(inputs, both[form], headOf(settings), form, "similarities"), settings, both);
    }
  }

  test("headwise's numbers are those of the definition, in both forms; and what the sentences say of them is true", async () => {
    let settingsSeen = 0;
    await eachScene((scene, settings, both) => {
      settingsSeen++;
      try {
        expectSteps(both[scene.form], defined(scene.inputs));
        checkSums(scene);
        checkFinding(scene);
        checkSymmetry(scene, settings.sameKeys);
        checkMask(scene);
        checkHeads(scene);
        checkScale(scene);
        expectPlain(words.biasWords(scene, settings.bias));
        checkForms(both);
        checkOrigins(scene, settingsSeen);
      } catch (error) {
        throw new Error(`${JSON.stringify({ ...settings, form: scene.form })}: ${(error as Error).message}`, {
          cause: error,
        });
      }
    });
    expect(settingsSeen).toBe(2 * (2 ** 6 + (3 * 5 + 2 + 2) * 8));
  });
});

function row(m: Matrix, index: number): readonly number[] {
  return m.data.slice(index * m.columns, (index + 1) * m.columns);
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
/** No two sources have a name in common. */
const positionOf = (word: string) => SOURCES.map((source) => originOfX(source).names.indexOf(word)).find((at) => at >= 0)!; // oxfmt-ignore
const wordsIn = (sentence: string) => [...sentence.matchAll(/“(\w+)”/g)].map(([, word]) => positionOf(word!));

function checkSums({ inputs, parts, form, head, steps, reading }: Scene): void {
  const said = words.softmaxWords({ inputs, parts, form, head, steps, reading });
  expectPlain(said);
  const line = form === "columns" ? "column" : "row";
  expect(said).toContain(`${line} of “`);
  expect(said).not.toContain(form === "columns" ? "row" : "column");
  const sums = Array.from({ length: parts.p.rows }, (_, i) => sum(row(parts.p, i)));
  if (inputs.softmax) {
    const isEmpty = (i: number) => row(parts.masked, i).every((score) => score === -Infinity);
    sums.forEach((total, i) => expect(Math.abs(total - (isEmpty(i) ? 0 : 1))).toBeLessThan(1e-5));
    expect(said.includes(`Every ${line} of P sums to 1`)).toBe(!sums.some((_, i) => isEmpty(i)));
    if (sums.some((_, i) => isEmpty(i))) expect(isEmpty(wordsIn(said)[0]!)).toBe(true);
  } else {
    const negative = parts.p.data.filter((weight) => weight < 0).length;
    const [, saidNegative] = /of \d+ weights (none|one|\d+)/.exec(said)!;
    expect({ none: 0, one: 1 }[saidNegative!] ?? Number(saidNegative)).toBe(negative);
  }
  const visible = row(parts.masked, wordsIn(said).at(-1)!).filter((score) => score !== -Infinity);
  expect(read(/adds? up to ([^ ;]+?)[.;]?(?: |;|$)/.exec(said)![1]!)).toBeCloseTo(Number(sum(visible).toFixed(2)), 5);
}

function checkFinding(scene: Scene): void {
  const said = words.finding(scene);
  expectPlain(said);
  const { parts, inputs, head } = scene;
  const [i, j] = wordsIn(said) as [number, number];
  if (!inputs.softmax) return expect(numbersIn(said)[0]).toBeCloseTo(Number(sum(row(parts.p, i)).toFixed(2)), 5);
  expect(said).toContain(`In head ${head + 1} `);
  if (said.includes("any two")) return;
  const [given, back] = [...said.matchAll(/(\d+)\s%/g)].map(([, percent]) => Number(percent));
  expect(given).toBe(Number((100 * at(parts.p, i, j)).toFixed(0)));
  if (back === undefined) expect(at(parts.masked, j, i)).toBe(-Infinity);
  else expect(back).toBe(Number((100 * at(parts.p, j, i)).toFixed(0)));
}

function checkSymmetry(scene: Scene, sameKeys: boolean): void {
  const said = words.symmetryWords(scene, sameKeys);
  expectPlain(said);
  const { raw } = scene.parts;
  const apart = Math.max(...raw.data.map((score, cell) => Math.abs(score - transposed(raw).data[cell]!)));
  if (/symmetric:|happen/.test(said) && !said.includes("not symmetric")) return expect(apart).toBeLessThan(0.005);
  const [i, j] = wordsIn(said) as [number, number];
  expect(numbersIn(said)).toEqual([at(raw, i, j), at(raw, j, i)].map((score) => read(decimal(score))));
  expect(sameKeys).toBe(false);
}

function checkMask(scene: Scene): void {
  const said = words.maskWords(scene);
  expectPlain(said);
  const { masked } = scene.parts;
  const visible = masked.data.filter((score) => score !== -Infinity).length;
  expect(numbersIn(said)).toEqual(visible === masked.data.length ? [masked.rows] : [visible, masked.data.length]);
}

function checkScale(scene: Scene): void {
  const said = words.scaleWords(scene);
  expectPlain(said);
  const { headDim } = scene.inputs.sizes;
  expect(said.includes(`√${headDim} = ${Math.sqrt(headDim).toFixed(2)}`)).toBe(scene.inputs.scale);
}

function checkHeads(scene: Scene): void {
  const { numHeads: N, headDim: D, valueDim: O, positions: S, inputDim: I } = scene.inputs.sizes;
  const [cut, join] = [words.headsWords(scene), words.joinWords(scene)];
  expectPlain(cut);
  if (!scene.inputs.softmax) expect(cut).not.toContain("softmax");
  expectPlain(join);
  if (N > 1) expect(numbersIn(cut)).toEqual([N * D, N, D, N * O, N, O]);
  const shape = scene.form === "columns" ? [N * O, S] : [S, N * O];
  expect(numbersIn(join)).toEqual([...(N > 1 ? [N] : []), ...shape, N * O, I]);
}

function checkForms(both: Record<Form, Steps>): void {
  const said = words.formsWords(both);
  expectPlain(said);
  const all = ({ heads, y, out }: Steps) => [...heads.flatMap(({ weights }) => weights.data), ...y.data, ...out.data];
  const apart = Math.max(...all(both.rows).map((value, i) => Math.abs(value - all(both.columns)[i]!)));
  const [numbers, millionths = 0] = numbersIn(said);
  expect(numbers).toBe(all(both.rows).length);
  expect(apart === 0 ? said.includes("are equal") : apart < millionths * 1e-6).toBe(true);
}

/** The sentences on one number of every matrix; which one differs from setting to setting. */
function checkOrigins(scene: Scene, seed: number): void {
  const all: string[] = [];
  for (const [name, m] of Object.entries(scene.parts) as [Name, Matrix][]) {
    const cell = { row: seed % m.rows, column: (seed * 7) % m.columns };
    const { lights, lines } = originOf(name, cell, scene);
    if (!areInside(lights, scene)) throw new Error(`the lights of ${name} are outside`);
    all.push(...lines);
    const [line = ""] = lines;
    const [, result] = / = ([^ ]+)\.$/.exec(line) ?? [];
    if (result !== undefined && !line.startsWith("This number of Y"))
      expect(read(result)).toBe(read(decimal(at(m, cell.row, cell.column))));
    const product = /: (.+) = [^ ]+\.$/.exec(line)?.[1];
    if (!product?.includes("·")) continue;
    const terms = product
      .split(" + ")
      .map((term) => numbersIn(term.replace(/ \(b_.\)/, "")).reduce((a, b) => a * b, 1));
    // Every factor is rounded to 0.005, and there are up to 16 products of factors up to about 20.
    if (Math.abs(sum(terms) - at(m, cell.row, cell.column)) > 16 * 2 * 0.005 * 20) throw new Error(`wrong: ${line}`);
  }
  expectPlain(...all);
}

/** Whether all lights are inside of their matrices. */
function areInside(lights: Lights, { parts }: Scene): boolean {
  return (Object.entries(lights) as [Name, Lights[Name] & object][]).every(
    ([name, { rows = [0, 0], columns = [0, 0] }]) => rows[1] <= parts[name].rows && columns[1] <= parts[name].columns,
  );
}

describe("the first state", () => {
  test("has five different sizes, and shapes say them in letters and numbers", () => {
    const { sizes } = inputsOf(FIRST);
    expect(sizes).toEqual({ positions: 5, inputDim: 7, headDim: 3, valueDim: 4, numHeads: 2 });
    expect(new Set(Object.values(sizes)).size).toBe(5);
    const shape = (name: Name) => shapeWords(sizes, SHAPES[name]).replaceAll("\u00a0", " ");
    expect(shape("wq")).toBe("I × N·D = 7 × 6");
    expect(shape("wv")).toBe("I × N·O = 7 × 8");
    expect(shape("raw")).toBe("S × S = 5 × 5");
  });

  test("shows that asking is not answering: phone and RAM", async () => {
    const inputs = inputsOf(FIRST);
    const scene = sceneOf(inputs, await calculate(engine, inputs, "rows"), 0, "rows", "similarities");
    expect(words.finding(scene)).toBe(
      "In head 1 “phone” gives 91\u00a0% of its attention to “RAM”; “RAM” gives 1\u00a0% back.",
    );
    for (let token = 1; token < 5; token++)
      expect(percent(Math.max(...row(scene.steps.heads[1]!.weights, token)))).toBe(
        percent(at(scene.steps.heads[1]!.weights, token, token - 1)),
      );
  });
});

test("every matrix of the diagram has the shape that it says", async () => {
  const inputs = inputsOf(settingsOf("positions=4&inputDim=6&headDim=2&valueDim=3&numHeads=3"));
  const { parts } = sceneOf(inputs, await calculate(engine, inputs, "rows"), 2, "rows", "similarities");
  for (const [name, { rows, columns }] of Object.entries(parts) as [Name, Matrix][])
    expect([name, rows, columns]).toEqual([name, ...SHAPES[name].map((extent) => extentOf(inputs.sizes, extent))]);
});

test("the key bias changes scores, but no weight after the softmax", async () => {
  for (let bits = 0; bits < 16; bits++) {
    const [scale, causal, excludeSelf, sameKeys] = [0, 1, 2, 3].map((bit) => ((bits >> bit) & 1) === 1);
    const inputs = inputsOf({
      ...FIRST,
      scale: scale!,
      causal: causal!,
      excludeSelf: excludeSelf!,
      sameKeys: sameKeys!,
    });
    const without = { ...inputs, bk: { ...inputs.bk, data: inputs.bk.data.map(() => 0) } };
    const [a, b] = [await calculate(engine, inputs, "rows"), await calculate(engine, without, "rows")];
    expect(a.heads[0]!.raw.data).not.toEqual(b.heads[0]!.raw.data);
    a.heads.forEach(({ weights }, head) => expectNear(weights, b.heads[head]!.weights));
  }
});

test("a mixture of rows and similarities are two readings of the same number", async () => {
  const inputs = inputsOf(FIRST);
  const steps = await calculate(engine, inputs, "rows");
  const scene = sceneOf(inputs, steps, 0, "rows", "mixtures");
  const { lights, lines } = originOf("yn", { row: 1, column: 2 }, scene);
  expect(lines[0]).toBe(
    "Row “phone” of Y₁ is a mixture of the rows of V₁: 0.01·(row “my”) + 0.02·(row “phone”) + 0.02·(row “needs”) + 0.03·(row “more”) + 0.91·(row “RAM”).",
  );
  expect(lines[1]).toMatch(
    /^Row “phone” of P times column 3 of V₁: 0\.01·.* = 2\.29\.$|^Row “phone” of weights P times/,
  );
  expect(lights.vn!.strengths!.at(-1)).toBe(1);
});

test("in the column form products stand the other way round", async () => {
  const inputs = inputsOf(FIRST);
  const scene = sceneOf(inputs, await calculate(engine, inputs, "columns"), 0, "columns", "similarities");
  expect(originOf("raw", { row: 1, column: 4 }, scene).lines[0]).toMatch(
    /^Row “RAM” of K₁ᵀ times column “phone” of Q₁: /,
  );
  expect(originOf("q", { row: 1, column: 0 }, scene).lines[0]).toMatch(
    /^Row 1 of W_Qᵀ times column “phone” of X: .*\(b_Q\) = /,
  );
});

describe("X that is not words", () => {
  test("a row is a moment of a time series: its sentence names the channels that X has", () => {
    const { sizes, x, names } = inputsOf({ ...FIRST, ...ofSource("series") });
    expect([x.rows, x.columns, names.length]).toEqual([6, CHANNELS.length, 6]);
    expect(sourceWords("series", sizes, "rows")).toBe(
      "A row of X is a moment, here a day: one number for each channel: temperature, wind and rain. 0 is a usual day.",
    );
  });

  test("a row is a patch of an image: put together, the patches are the image", () => {
    const { x } = inputsOf({ ...FIRST, ...ofSource("image") });
    expect([x.rows, x.columns]).toEqual([6, PATCH * PATCH]);
    const side = PATCHES_IN_ROW * PATCH;
    const image = Array.from({ length: x.data.length }, (_, pixel) => {
      const [row, column] = [Math.floor(pixel / side), pixel % side];
      const patch = Math.floor(row / PATCH) * PATCHES_IN_ROW + Math.floor(column / PATCH);
      return at(x, patch, (row % PATCH) * PATCH + (column % PATCH));
    });
    expect(image).toEqual([
      ...[0.5, 0.5, 0.5, 0.5, 1, 1],
      ...[0.5, 0.5, 0, 0.5, 1, 1],
      ...[0.5, 0, 0, 0, 0.5, 0.5],
      ...[0, 0, 0, 0, 0, 0.5],
    ]);
  });

  test("the sentence counts the rows and columns that are there, in both forms", () => {
    for (const source of SOURCES)
      for (let positions = 2; positions <= 6; positions++)
        for (let inputDim = 2; inputDim <= 8; inputDim++)
          for (const form of ["rows", "columns"] as const) {
            const said = sourceWords(source, { positions, inputDim }, form);
            expectPlain(said);
            expect(faults(said)).toEqual([]);
            expect(said.startsWith(form === "rows" ? "A row of X" : "A column of X")).toBe(true);
            if (source === "words") continue;
            const { width, names, x } = originOfX(source);
            expect(said.includes(`the first ${positions} of ${names.length}`)).toBe(positions < names.length);
            expect(said.includes("it has the first")).toBe(inputDim < width);
            const spare = Array.from({ length: names.length }, (_, row) => at(x, row, width));
            expect(spare.every((value) => value === 0)).toBe(true);
            expect(/0 at first\./.test(said)).toBe(inputDim > width);
          }
  });

  test("its numbers can be typed over, and another source brings its own", () => {
    const series = { ...FIRST, ...ofSource("series") };
    const typed = { ...series, ...edited(series, "x", [{ row: 5, column: 2, value: 7 }]) };
    expect(at(inputsOf(typed).x, 5, 2)).toBe(7);
    expect(inputsOf({ ...typed, ...ofSource("image") }).x).toEqual(inputsOf({ ...FIRST, ...ofSource("image") }).x);
    expect(inputsOf({ ...typed, ...ofSource("words") })).toEqual(inputsOf(FIRST));
  });
});

describe("an edit", () => {
  test.each(EDITABLE)("of %s is kept in the address, and changes that number only", (name) => {
    const before = inputsOf(FIRST)[name];
    const cell = { row: before.rows - 1, column: before.columns - 1 };
    const state = new State(fields);
    state.set(edited(state.values, name, [{ ...cell, value: -2.25 }]));
    const after = inputsOf(new State(fields, new URLSearchParams(state.query.toString())).values)[name];
    expect(at(after, cell.row, cell.column)).toBe(-2.25);
    expect(after.data.filter((value, i) => value !== before.data[i])).toEqual([-2.25]);
  });

  test("of a head stays when the heads become narrower and wide again", () => {
    const { wq } = edited(FIRST, "wq", [{ row: 0, column: 5, value: 9 }]); // head 2, feature 3
    const narrow = { ...FIRST, wq: wq!, headDim: 1 };
    expect(inputsOf(narrow).wq.data).not.toContain(9);
    expect(at(inputsOf({ ...narrow, headDim: 3 }).wq, 0, 5)).toBe(9);
    expect(at(inputsOf({ ...narrow, headDim: 4 }).wq, 0, 6)).toBe(9);
  });

  test("never fills the address: the longest text is read whole", () => {
    const long = Object.fromEntries(
      EDITABLE.map((name) => [name, edited(FIRST, name, [{ row: 0, column: 0, value: -999.125 }])[name]!.length]),
    );
    expect(Math.max(...Object.values(long))).toBeLessThan(4000);
    expect(Object.keys(EXTENTS)).toEqual([...EDITABLE]);
  });
});

test.each([
  ["a spreadsheet", "1\t2,5\n−3\t4\n"],
  ["NumPy", "[[ 1.   2.5]\n [-3.   4. ]]"],
  ["NumPy's repr", "array([[ 1. ,  2.5],\n       [-3. ,  4. ]])"],
  ["NumPy's repr of another type", "array([[ 1. ,  2.5],\n       [-3. ,  4. ]], dtype=float32)"],
  ["NumPy, whose rows are longer than a line", "[[ 1.\n   2.5]\n [-3.\n   4. ]]"],
  ["PyTorch", "tensor([[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]], device='cuda:0', dtype=torch.float64)"],
  ["CSV with decimal commas", "1;2,5\r\n-3;4,0001\r\n"],
  ["MATLAB", "[1, 2.5; -3, 4]"],
  ["MATLAB, in lines", "[1 2.5;\n -3 4];"],
  ["JSON", "[[1, 2.5], [-3, 4]]"],
  ["CSV", "1,2.5\r\n-3,4.0001"],
  ["an address of the room", "1 2.5;-3 4"],
])("a table from %s is read", (_, text) => {
  expect(tableOf(text)).toEqual([
    [1, 2.5],
    [-3, 4],
  ]);
});

test.each([
  ["a spreadsheet", "1\t\t2,5\n\t4\t\n"],
  ["CSV", "1,,2.5\n,4,"],
  ["CSV with decimal commas", "1;;2,5\n;4;\n"],
])("the empty cells of a table from %s keep their places", (_, text) => {
  const rows = tableOf(text)!.map((row) => [0, 1, 2].map((column) => row[column]));
  expect(rows).toEqual([
    [1, undefined, 2.5],
    [undefined, 4, undefined],
  ]);
});

test("what is no table of numbers is not read", () => {
  for (const text of ["my phone", "1 2 x", "1 NaN", "1 1000", "1 Infinity", "0x10 1", "[1 2 ... 3]", "1,2,a=3"])
    expect(tableOf(text)).toBeUndefined();
});

describe("from this toy to GPT-3", () => {
  test("GPT-3 has 96 heads of 128, is 12,288 wide and has 2,048 positions", () => {
    const { name, sizes } = STATIONS.at(-1)!;
    expect(name).toBe("GPT-3");
    expect(sizes).toEqual({ positions: 2048, inputDim: 12288, headDim: 128, valueDim: 128, numHeads: 96 });
  });

  test("the numbers are exact", () => {
    expect(growthOf(STATIONS.at(-1)!.sizes)).toEqual({
      parameters: 604_028_928, // 4 · 12,288² + 4 · 12,288
      scores: 402_653_184, // 96 · 2,048²
      multiplications: 1_340_029_796_352, // 2,048 · 4 · 12,288² + 2 · 96 · 2,048² · 128
      bytes: 1_610_612_736,
    });
    for (const { sizes } of [...STATIONS, toy(inputsOf(FIRST).sizes)]) {
      const [S, I, D, O, N] = [sizes.positions, sizes.inputDim, sizes.headDim, sizes.valueDim, sizes.numHeads].map(
        BigInt,
      ) as [bigint, bigint, bigint, bigint, bigint];
      const exact = {
        parameters: 2n * (I * N * D + N * D) + I * N * O + N * O + N * O * I + I,
        scores: N * S * S,
        multiplications: S * I * N * D * 2n + S * I * N * O + N * S * S * D + N * S * S * O + S * N * O * I,
        bytes: 4n * N * S * S,
      };
      expect(growthOf(sizes)).toEqual(Object.fromEntries(Object.entries(exact).map(([what, n]) => [what, Number(n)])));
    }
  });

  test("the parameters of the toy are those that the room shows", () => {
    const inputs = inputsOf(FIRST);
    const shown = EDITABLE.filter((name) => name !== "x").reduce((total, name) => total + inputs[name].data.length, 0);
    expect(growthOf(inputs.sizes).parameters).toBe(shown);
  });

  test("every sentence has the numbers of its model", () => {
    const first = inputsOf(FIRST).sizes;
    for (const numHeads of ENDS.numHeads)
      for (const station of [...STATIONS, toy({ ...first, numHeads })]) {
        const { positions, inputDim, headDim, numHeads: heads } = station.sizes;
        const said = [stationWords(station), growthWords(station, first)];
        expectPlain(...said);
        expect(numbersIn(said[0]!.split(":")[1]!)).toEqual([heads, headDim, inputDim, positions, station.layers]);
        const now = growthOf(station.sizes);
        if (station.layers === 1)
          expect(numbersIn(said[1]!)).toEqual([2 * positions, 4, 4 * now.scores, now.parameters]);
        else
          expect(numbersIn(said[1]!)).toEqual([
            Math.round(now.multiplications / growthOf(first).multiplications),
            station.layers,
            station.layers * now.parameters,
          ]);
      }
  });
});

describe("a dictionary that softens into attention", () => {
  test("is the mean of all at sharpness 0, and a lookup of the nearest key at the sharpest", async () => {
    const mean = sum(HOURS.values) / HOURS.values.length;
    for (let hour = 0; hour < 24; hour++) {
      expect((await ask(engine, hour, 0)).value).toBeCloseTo(mean, 5);
      const nearest = HOURS.keys.findIndex((key) => Math.min(Math.abs(key - hour), 24 - Math.abs(key - hour)) <= 1);
      const { weights, value } = await ask(engine, hour, HOURS.sharpness.at(-1)!);
      // Scores near 1000 are rounded to 6e-5.
      expect(weights[nearest]).toBeCloseTo(1, 3);
      expect(value).toBeCloseTo(HOURS.values[nearest]!, 2);
    }
  });

  test("says what it computed, for every hour and sharpness", async () => {
    for (let hour = 0; hour < 24; hour++)
      for (const sharpness of HOURS.sharpness) {
        const answer = await ask(engine, hour, sharpness);
        const said = answerWords(hour, sharpness, answer);
        expectPlain(said);
        expect(said.includes("finds nothing")).toBe(lookup(hour) === undefined);
        expect(said).toContain(`${answer.value.toFixed(1)} °C`);
        if (sharpness === 0) continue;
        const best = answer.weights.indexOf(Math.max(...answer.weights));
        expect(said).toContain(
          `${(100 * answer.weights[best]!).toFixed(0)}\u00a0% of the weight to ${clock(HOURS.keys[best]!)}`,
        );
      }
  });
});

test("one product instead of a recurrence: the operations are counted", () => {
  for (let exponent = fields.length.min; exponent <= fields.length.max; exponent++) {
    const positions = 2 ** exponent;
    let [products, recurrence] = [0, 0];
    if (positions <= 64) {
      for (let i = 0; i < positions; i++) for (let j = 0; j < positions; j++) products += WIDTH + WIDTH;
      for (let step = 0; step < positions; step++) recurrence += WIDTH * WIDTH + WIDTH * WIDTH;
      expect(ofProducts(positions).multiplications).toBe(products);
      expect(ofRecurrence(positions).multiplications).toBe(recurrence);
    }
    expect([ofProducts(positions).waiting, ofRecurrence(positions).waiting]).toEqual([2, positions]);
    const said = loopsWords(positions);
    expectPlain(said);
    const [a, b] = [ofProducts(positions).multiplications, ofRecurrence(positions).multiplications];
    if (a !== b) {
      expect(said.startsWith(a < b ? "The products" : "The recurrence")).toBe(true);
      expect(numbersIn(said)[0]).toBe(Math.max(a, b) / Math.min(a, b));
    }
  }
});

test("a loop over the queries gives the rows of the product, one by one", async () => {
  const { inputs, steps } = await firstScene("softmax=true");
  const { headDim: D, valueDim: O, positions: S } = inputs.sizes;
  const tensor = (m: Matrix, columns: number) => ({
    data: Float32Array.from({ length: m.rows * columns }, (_, i) => at(m, Math.floor(i / columns), i % columns)),
    shape: [m.rows, columns],
  });
  for (let i = 0; i < S; i++) {
    const query = { data: tensor(steps.q, D).data.slice(i * D, (i + 1) * D), shape: [1, D] };
    const options = { returns: { output: true } } as const;
    const { output } = await engine.scaledDotProductAttention(query, tensor(steps.k, D), tensor(steps.v, O), options);
    Array.from(output.data).forEach((value, o) => expect(value).toBeCloseTo(at(steps.y, i, o), 4));
  }
  expect(ofLoop(2048)).toEqual({ ...ofProducts(2048), waiting: 4096 });
});

async function firstScene(query: string, form: Form = "rows"): Promise<Scene> {
  const settings = settingsOf(query);
  const inputs = inputsOf(settings);
  return sceneOf(inputs, await calculate(engine, inputs, form), headOf(settings), form, "similarities");
}

describe("who mixes", () => {
  const MASKS = ["", "causal=true", "excludeSelf=true", "causal=true&excludeSelf=true"];

  test.each(MASKS)("rows of Q, K and V are local, P·V is not: %s", async (mask) => {
    const scene = await firstScene(mask);
    const { x } = scene.inputs;
    const data = x.data.map((value, i) => (Math.floor(i / x.columns) === 1 ? value - 2 : value));
    const [before, after] = [defined(scene.inputs), defined({ ...scene.inputs, x: { ...x, data } })];
    for (const step of ["q", "k", "v"] as const) expect(changedRows(before[step], after[step])).toBe(1);
    const said = localWords(scene);
    expectPlain(said);
    expect(numbersIn(said)).toEqual([5, changedRows(before.y, after.y)]);
    expect(changedRows(before.y, after.y)).toBeGreaterThan(1);
  });

  test.each(MASKS)("with one query for all, every token gets the same, but for the mask: %s", async (mask) => {
    for (const softmax of ["true", "false"]) {
      const scene = await firstScene(`oneQuery=true&softmax=${softmax}&${mask}`);
      const rows = (m: Matrix) => new Set(Array.from({ length: m.rows }, (_, i) => row(m, i).map((v) => v.toFixed(4)).join())); // oxfmt-ignore
      const isOne = rows(scene.parts.p).size === 1;
      expect(isOne).toBe(mask === "");
      if (isOne) expect([rows(scene.steps.y).size, rows(scene.steps.out).size]).toEqual([1, 1]);
      const said = queryWords(scene, true);
      expectPlain(said, queryWords(scene, false));
      expect(said.includes("every token the same")).toBe(isOne);
    }
    expect(rowsDiffer((await firstScene(mask)).parts.p)).toBe(true);
  });

  test("values side by side would be more numbers, and a matrix for one length", () => {
    for (const sizes of allSizes()) {
      const { positions: S, valueDim: O, numHeads: N, inputDim: I } = { ...FIRST, ...sizes };
      const said = concatenationWords({ inputs: inputsOf({ ...FIRST, ...sizes }) });
      expectPlain(said);
      expect(numbersIn(said)).toEqual([S, S * O, O, S * N * O * I, N * O * I]);
    }
  });

  const rowsDiffer = (m: Matrix) => row(m, 0).some((value, i) => Math.abs(value - at(m, m.rows - 1, i)) > 1e-3);
});

test("the largest score of a row is subtracted before the powers, and the weights stay", async () => {
  for (const query of ["", "causal=true&excludeSelf=true", "scale=false", "numHeads=4&head=3"]) {
    const scene = await firstScene(query);
    const { masked, p } = scene.parts;
    const [said] = words.maximumWords(scene);
    expectPlain(said!);
    const largest = Math.max(...masked.data);
    expect(numbersIn(said!)[0]).toBe(read(decimal(largest)));
    expect(Math.max(...row(masked, wordsIn(said!)[0]!))).toBe(largest);
    for (let i = 0; i < masked.rows; i++) {
      const most = Math.max(...row(masked, i));
      if (most === -Infinity) continue;
      const powers = row(masked, i).map((score) => Math.exp(score - most));
      expect(Math.max(...powers)).toBe(1);
      powers.forEach((power, j) => expect(power / sum(powers)).toBeCloseTo(at(p, i, j), 4));
    }
  }
  expect(words.maximumWords(await firstScene("softmax=false"))).toEqual([]);
});

test("N heads divide the features: N·D is held, N changes", () => {
  for (const sizes of allSizes()) {
    const { numHeads: N, headDim: D, inputDim: I } = { ...FIRST, ...sizes };
    const inputs = inputsOf({ ...FIRST, ...sizes });
    const said = words.divideWords({ inputs } as Scene);
    expectPlain(said);
    const splits = [...said.matchAll(/(\d+) heads? of (\d+)/g)].map(([, heads, width]) => [
      Number(heads),
      Number(width),
    ]);
    expect(splits.every(([heads, width]) => heads! * width! === N * D)).toBe(true);
    expect(splits).toContainEqual([N, D]);
    expect(said).toContain(`W_Q has ${I * N * D} numbers`);
    expect(inputs.wq.data).toHaveLength(I * N * D);
  }
});

test.each([1, 64, 512])(
  "random scores of width %d have variance near D, and near 1 after the division",
  async (dim) => {
    const { unscaled, scaled } = await scoreStatistics(engine, dim);
    // Of 64 · D random numbers, the mean square errs by √(2 / (64 · D)): at D = 1 by 0.18, for queries and for keys.
    expect(Math.abs(unscaled.variance / dim - 1)).toBeLessThan(0.5);
    expect(scaled.variance).toBeCloseTo(unscaled.variance / dim, 4);
    for (const statistics of [unscaled, scaled]) {
      const said = statisticsWords("q·k", statistics);
      expectPlain(said);
      expect(numbersIn(said)).toEqual([
        Number(statistics.variance.toFixed(1)),
        Number((100 * statistics.peak).toFixed(0)),
      ]);
    }
  },
);

test("names turn with the form", () => {
  const inputs = inputsOf(FIRST);
  expect(nameOf("wq", { head: 0, form: "rows", inputs })).toBe("W_Q");
  expect(nameOf("wq", { head: 0, form: "columns", inputs })).toBe("W_Qᵀ");
  expect(nameOf("kt", { head: 1, form: "columns", inputs })).toBe("K₂ᵀ");
});

test("only scores that a mask has met are called masked", () => {
  for (const scale of [false, true])
    for (const causal of [false, true])
      for (const excludeSelf of [false, true]) {
        const inputs = inputsOf({ ...FIRST, scale, causal, excludeSelf });
        const name = nameOf("masked", { head: 0, form: "rows", inputs });
        expect([name, name.includes("masked")]).toEqual([name, causal || excludeSelf]);
        expect(name.includes("scaled")).toBe(scale);
      }
});
