import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { HEAD_DIM, squareCost, TILE, tiledCost } from "../../web/demo/lab/rooms/flash/cost.js";
import { momentOf, tensorsOf } from "../../web/demo/lab/rooms/flash/moment.js";
import { finished, rowHistory } from "../../web/demo/lab/rooms/flash/online.js";
import { DIM, fields, type Settings } from "../../web/demo/lab/rooms/flash/settings.js";
import {
  costWords,
  keysName,
  finding,
  resultWords,
  tileWords,
  timesWords,
} from "../../web/demo/lab/rooms/flash/words.js";
import { headMatrix } from "../../web/demo/lab/shell/matrix.js";
import { bytes, scientific, significant } from "../../web/demo/lab/shell/numbers.js";
import { combinations, faults, initial, numbersIn } from "./labGrid.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

const computed = new Map<string, Awaited<ReturnType<typeof compute>>>();
async function compute(settings: Settings) {
  const { query, key, value } = tensorsOf(settings);
  const { output, scores } = await hw.scaledDotProductAttention(query, key, value, {
    causal: settings.causal,
    returns: { output: true, scores: "biased" },
  });
  return {
    scores: headMatrix(scores),
    values: headMatrix(value),
    output: headMatrix({ data: output.data, shape: output.shape }),
  };
}
async function drawn(settings: Settings) {
  const key = `${settings.length} ${settings.causal}`;
  if (!computed.has(key)) computed.set(key, await compute(settings));
  return computed.get(key)!;
}

test("every sentence is true in every setting, also beyond the last step and the last row of a tile", async () => {
  for (const choice of combinations(fields, ["length", "tileQueries", "tileKeys", "causal", "step", "row"]))
    for (const step of [choice.step, 1, 5]) {
      const settings: Settings = { ...initial(fields), ...choice, step };
      const { length, tileQueries, tileKeys, causal } = settings;
      const { scores, values, output } = await drawn(settings);
      const moment = momentOf(scores, values, settings);
      const said = [finding(moment), tileWords(moment), resultWords(moment, output)] as const;
      const found = said.flatMap(faults);
      const claim = (what: string, holds: boolean) => holds || found.push(`${what}: ${JSON.stringify(said)}`);

      const tiles = [];
      for (let i = 0; i < length; i += tileQueries)
        for (let j = 0; j < length; j += tileKeys)
          if (!causal || j <= Math.min(i + tileQueries, length) - 1) tiles.push([i, j] as const);
      const all = Math.ceil(length / tileQueries) * Math.ceil(length / tileKeys);
      const at = Math.min(step, tiles.length - 1);
      const [firstRow, firstKey] = tiles[at]!;
      const row = Math.min(firstRow + settings.row, Math.min(firstRow + tileQueries, length) - 1);
      const sees = causal ? row + 1 : length;
      const seen = Math.min(firstKey + tileKeys, sees);

      const met = seen < sees ? [seen, sees] : sees === 1 ? [] : [sees];
      claim("finding", String(numbersIn(said[0])) === String([at + 1, tiles.length, row, ...met, 2 + DIM, DIM]));
      claim("tiles", numbersIn(said[1])[0] === tiles.length && (numbersIn(said[1])[1] ?? 0) === all - tiles.length);
      claim("row", numbersIn(said[2])[0] === row);
      claim("finished", said[2].includes("is finished") === (seen === sees));
      if (seen < sees) claim("to come", numbersIn(said[2])[1] === sees - seen);
      else {
        const own = numbersIn(/\(([^)]*)\)/.exec(said[2])![1]!.replaceAll(", ", "; "));
        claim(
          "result",
          own.every((value, d) => Math.abs(value - output.data[row * DIM + d]!) < 0.000501),
        );
        claim("the same", /same(\.| to \d · 10⁻(?:[⁶⁷⁸⁹]|¹[⁰¹²])\.)$/.test(said[2]));
      }
      if (found.length > 0) throw new Error(`${found.join("\n")}\nin ${JSON.stringify(settings)}`);
    }
});

test("the lesson: after every tile a row remembers the softmax of what it has met; at last it is the whole row's", async () => {
  for (const choice of combinations(fields, ["length", "tileQueries", "tileKeys", "causal"])) {
    const settings = { ...initial(fields), ...choice };
    const { scores, values, output } = await drawn(settings);
    const last = momentOf(scores, values, { ...settings, step: 48 * 48, row: 15 });
    rowHistory(scores, values, last.row, last.met, last.tile).forEach(({ after }, index) => {
      const end = (last.met[index]!.keyTile + 1) * settings.tileKeys;
      const row = scores.data.slice(
        last.row * scores.columns,
        last.row * scores.columns + Math.min(end, scores.columns),
      );
      const largest = Math.max(...row);
      expect(after.maximum).toBe(largest);
      expect(after.sum).toBeCloseTo(
        row.reduce((sum, score) => sum + Math.exp(score - largest), 0),
        9,
      );
    });
    finished(last.history.at(-1)!.after).forEach((value, d) =>
      expect(Math.abs(value - output.data[last.row * DIM + d]!)).toBeLessThan(1e-6),
    );
  }
});

test("the room opens in the middle: tiles are done, some are to come, and a larger score has just come", async () => {
  const settings = initial(fields);
  const { scores, values } = await drawn(settings);
  const { step, steps, history, seen, sees } = momentOf(scores, values, settings);
  expect(step).toBeGreaterThan(0);
  expect(step).toBeLessThan(steps.length - 1);
  expect(seen).toBeLessThan(sees);
  expect(history.at(-1)!.correction).toBeGreaterThan(0.05);
  expect(history.at(-1)!.correction).toBeLessThan(0.95);
});

test.each([128, 256, 1024])("the costs are what counting gives, at %i", (length) => {
  const float = 4;
  for (const causal of [false, true]) {
    let tiles = 0;
    for (let i = 0; i < length; i += TILE)
      for (let j = 0; j < length; j += TILE) tiles += Number(!causal || j <= i + TILE - 1);
    const { memory, traffic, flops } = tiledCost(length, causal);
    expect(memory).toBe(float * (TILE * TILE + TILE * HEAD_DIM + 2 * TILE));
    expect(traffic).toBe(float * HEAD_DIM * (2 * length + tiles * 2 * TILE));
    expect(flops).toBe(tiles * TILE * TILE * HEAD_DIM * 2 * 2);
  }
  const { memory, traffic, flops } = squareCost(length);
  expect(memory).toBe(2 * float * length * length);
  expect(traffic).toBe(2 * memory + 4 * float * length * HEAD_DIM);
  expect(flops).toBe(length * length * HEAD_DIM * 2 * 2);
});

test("tiles are not credited with what the mask saves", () => {
  for (const power of combinations(fields, ["long"])) {
    const length = 2 ** power.long;
    const [square, tiled, masked] = [squareCost(length), tiledCost(length, false), tiledCost(length, true)];
    expect(tiled.flops).toBe(square.flops);
    const [plain, causal] = [costWords(length, false), costWords(length, true)];
    expect([plain, causal].flatMap(faults)).toEqual([]);
    expect(plain).toBe(`Tiles move ${timesWords(square.traffic / tiled.traffic)} fewer bytes and compute the same.`);
    expect(causal.startsWith(plain)).toBe(true);
    expect(causal).toContain(`${timesWords(tiled.flops / masked.flops)} fewer operations`);
  }
});

test("numbers are written without raw exponents", () => {
  expect([99.7 * 1024, 1023, 9.96 * 2 ** 20, 2.5 * 1024, 34 * 2 ** 30].map(bytes)).toEqual(["100\u00a0KB", "1,023 bytes", "10\u00a0MB", "2.5\u00a0KB", "34\u00a0GB"]); // oxfmt-ignore
  expect([2824.3, 0.04211, 12.345, 100, 9.999].map((value) => significant(value))).toEqual(["2,820", "0.0421", "12.3", "100", "10"]); // oxfmt-ignore
  expect([6.2e-8, 1e-10, 9.7e-7, 3].map(scientific)).toEqual(["6 · 10⁻⁸", "1 · 10⁻¹⁰", "1 · 10⁻⁶", "3 · 10⁰"]);
  expect([keysName(4, 4), keysName(4, 1)]).toEqual(["keys 4 to 7", "key 4"]);
});
