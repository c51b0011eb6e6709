import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { kvHeadsOf, optionsOf, tensorsOf } from "../../web/demo/lab/rooms/masks/options.js";
import { PRESETS, presetOf } from "../../web/demo/lab/rooms/masks/presets.js";
import { fields as allFields, NO_SINK, UNBOUNDED, type Settings } from "../../web/demo/lab/rooms/masks/settings.js";
import { visibleTiles } from "../../web/demo/lab/rooms/masks/tiles.js";
import { choice } from "../../web/demo/lab/shell/field.js";
import * as words from "../../web/demo/lab/rooms/masks/words.js";
import { combinations, faults, initial, numbersIn, saysShare, settingsGrid } from "./labGrid.js";

/** Rules as options. Rules as formulas have tests of their own: labMasksFormulas.test.ts. */
const fields = { ...allFields, rules: choice("options", ["options"]) };
const findingOf = (settings: Settings) => words.finding(settings, words.seenBy(settings));

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

const made = new Map<string, ReturnType<typeof tensorsOf>>();
function tensors(settings: Settings) {
  const { queries, keys, heads } = settings;
  const shapes = String([queries, keys, heads, kvHeadsOf(settings)]);
  if (!made.has(shapes)) made.set(shapes, tensorsOf(settings));
  return made.get(shapes)!;
}

/** What the room draws, by headwise. */
async function drawn(settings: Settings) {
  const { query, key, value } = tensors(settings);
  const { output, probs, scores, entropy } = await hw.scaledDotProductAttention(query, key, value, {
    ...optionsOf(settings),
    returns: { output: true, probs: true, entropy: true, scores: "biased" },
  });
  const { queries, keys } = settings;
  const rows = Array.from({ length: queries }, (_, row) => [...scores.data.subarray(row * keys, (row + 1) * keys)]);
  const visible = rows.map((row) => row.map((score) => score !== -Infinity));
  return { value, output, probs: probs.data, entropy: entropy.data, visible, seen: visible.map(total) };
}
const total = (row: readonly boolean[]) => row.filter(Boolean).length;
const sum = (numbers: Iterable<number>) => [...numbers].reduce((a, b) => a + b, 0);

const VISIBILITY = ["queries", "keys", "causal", "left", "right", "keyLength", "excludeSelf"] as const;

test("every sentence is true in every setting", async () => {
  for (const settings of settingsGrid(fields, VISIBILITY)) {
    const { queries, keys } = settings;
    const { value, output, probs, entropy, visible, seen } = await drawn(settings);
    const fault = (what: string) => `${what}, in ${JSON.stringify(settings)}`;
    const bySettings = words.seenBy(settings);
    const said = {
      finding: words.finding(settings, bySettings),
      empty: words.emptyWords(settings, bySettings),
      groups: words.groupWords(settings),
      spread: words.spreadWords(probs, settings, bySettings),
      tiles: words.tileWords(words.tilesOf(bySettings)),
    };
    const found: string[] = Object.values(said).filter(Boolean).flatMap(faults);
    const claim = (what: string, holds: boolean) => holds || found.push(`${what}: ${JSON.stringify(said)}`);

    const [low, high] = [Math.min(...seen), Math.max(...seen)];
    const [who, rest] = said.finding.split(": ") as [string, string];
    claim("pairs", numbersIn(rest)[0] === sum(seen) && numbersIn(rest)[1] === queries * keys);
    claim("share", saysShare(rest, sum(seen), queries * keys));
    if (low < high) claim("range", String(numbersIn(who)) === String([low, high, keys]));
    else if (high === 0) claim("none", who.endsWith("sees no key"));
    else if (keys === 1) claim("one key", who.endsWith("sees the only key"));
    else claim("same", String(numbersIn(who)) === String(high < keys ? [high, keys] : [keys]));
    claim("one query", who.startsWith("The only query") === (queries === 1));

    const empty = [...seen.entries()].filter(([, count]) => count === 0).map(([row]) => row);
    if (empty.length === 0) claim("no empty row", said.empty.startsWith("No row"));
    else {
      const [, count, named] = /^(\d+) rows? sees? nothing \(([^;]*);/.exec(said.empty) ?? [];
      claim("empty rows", Number(count) === empty.length && String(numbersIn(named!)) === String(empty.slice(0, 8)));
      claim("cut list", named!.endsWith("…") === empty.length > 8);
      const dim = value.shape[3]!;
      const row = output.data.subarray(empty[0]! * dim, (empty[0]! + 1) * dim);
      const averaged = Math.min(settings.keyLength, keys);
      if (said.empty.includes("NaN")) claim("NaN", row.every(Number.isNaN));
      else if (said.empty.includes("mean")) {
        if (averaged > 1) claim("averaged", numbersIn(said.empty.split("mean")[1]!)[0] === averaged);
        const mean = (d: number) =>
          sum(Array.from({ length: averaged }, (_, j) => value.data[j * dim + d]!)) / averaged;
        claim(
          "mean",
          row.every((number, d) => Math.abs(number - mean(d)) < 1e-5),
        );
      } else claim("zero", said.empty.includes("zero") && row.every((number) => number === 0));
    }
    const hides = words.hides(settings, bySettings);
    for (let i = 0; i < queries; i++)
      for (let j = 0; j < keys; j++) {
        const isShown = probs[i * keys + j]! > 0 || visible[i]![j]!;
        if (hides(i, j) === isShown) found.push(fault(`hidden ${i}, ${j}`));
      }

    const [heads, groups] = [settings.heads, kvHeadsOf(settings)];
    const last = said.groups.split(/(?<=used)\. /).at(-1)!;
    claim("groups", heads % groups === 0 && groups <= settings.kvHeads);
    claim("corrected", said.groups.includes("used") === (groups !== settings.kvHeads));
    claim("sizes", last.includes("own") || numbersIn(last).at(-1) === heads / groups);
    claim("own", last.includes("own") === (heads === groups));

    const rows = [...seen.entries()].filter(([, count]) => count > 0).map(([row]) => row);
    claim("spread", (said.spread === "") === (rows.length === 0));
    if (rows.length > 0) {
      const kept = rows.map((row) => sum(probs.subarray(row * keys, (row + 1) * keys)));
      const own = rows.map((row, n) => entropy[row]! / kept[n]! + Math.log(kept[n]!));
      const over = Number(/over ([\d.]+) keys?/.exec(said.spread)?.[1]);
      claim("over", Math.abs(over - Math.exp(sum(own) / rows.length)) < 0.0501);
      claim("sink", said.spread.includes("sink") === settings.sink > NO_SINK);
      if (settings.sink > NO_SINK) claim("taken", saysShare(said.spread, rows.length - sum(kept), rows.length));
    }

    const tiles = { whole: 0, edge: 0, skipped: 0 };
    for (let i = 0; i < queries; i += words.TILE)
      for (let j = 0; j < keys; j += words.TILE) {
        const pairs = visible.slice(i, i + words.TILE).flatMap((row) => row.slice(j, j + words.TILE));
        tiles[total(pairs) === 0 ? "skipped" : total(pairs) === pairs.length ? "whole" : "edge"]++;
      }
    const { whole, edge, skipped } = tiles;
    claim("visible tiles", visibleTiles(words.seenBy(settings), words.TILE) === whole + edge);
    claim("tiles", String(numbersIn(said.tiles)) === String([whole + edge + skipped, whole, edge, skipped]));
    if (found.length > 0) throw new Error(found.slice(0, 3).map(fault).join("\n"));
  }
});

test("what is said of a long sequence is what its rules leave", () => {
  for (const rules of combinations(fields, ["causal", "left", "right", "excludeSelf"])) {
    const settings = { ...initial(fields), ...rules };
    const said = words.longWords(settings);
    expect(faults(said)).toEqual([]);
    const [length, computed, all, ...size] = numbersIn(said);
    expect([length, all, ...size.slice(0, 2)]).toEqual([8192, 128 * 128, 64, 64]);
    expect(saysShare(said, computed!, 128 * 128)).toBe(true);
    if (rules.causal !== "off" && rules.left >= UNBOUNDED) expect(computed).toBe((128 * 129) / 2);
    if (rules.causal === "off" && rules.left >= UNBOUNDED && rules.right >= UNBOUNDED) expect(computed).toBe(128 * 128);
  }
  expect(numbersIn(words.longWords(initial(fields)))[1]).toBe(128 + 127); // the diagonal, and the tiles to the left of it
});

describe("presets", () => {
  /** A pair is visible in the model; written from its paper, not from the settings. */
  const MODELS: Readonly<Record<string, { sees: (i: number, j: number) => boolean; rules: Partial<Settings> }>> = {
    "BERT, padded": { sees: (_, j) => j < 17, rules: { causal: "off" } },
    GPT: { sees: (i, j) => j <= i, rules: {} },
    "GPT, next tokens": { sees: (i, j) => j <= i + 18, rules: { queries: 6 } },
    "Mistral 7B": { sees: (i, j) => j <= i && j > i - 8, rules: { heads: 8, kvHeads: 2 } },
    BLOOM: { sees: (i, j) => j <= i, rules: { alibi: true } },
    "Gemma 2, local layer": { sees: (i, j) => j <= i && j > i - 12, rules: { softcap: 50, heads: 4, kvHeads: 2 } },
    "Gemma 2, global layer": { sees: (i, j) => j <= i, rules: { softcap: 50, heads: 4, kvHeads: 2 } },
    "gpt-oss": { sees: (i, j) => j <= i && j > i - 8, rules: { sink: 1, heads: 8, kvHeads: 1 } },
    Longformer: { sees: (i, j) => Math.abs(i - j) <= 4, rules: { causal: "off" } },
  };
  const OFF = { alibi: false, softcap: 0, sink: NO_SINK, excludeSelf: false, sharpness: 1 };

  test("are all compared with their models", () => expect(Object.keys(MODELS)).toEqual(Object.keys(PRESETS)));

  test.each(Object.entries(MODELS))(
    "%s sees what the model sees, whatever was set before",
    async (name, { sees, rules }) => {
      const before = {
        ...initial(fields),
        alibi: true,
        softcap: 9,
        sink: 2,
        left: 1,
        right: 1,
        keyLength: 3,
        excludeSelf: true,
      };
      const settings = { ...before, ...PRESETS[name]!.rules };
      expect(settings).toMatchObject({ ...OFF, ...rules });
      const { visible } = await drawn(settings);
      visible.forEach((row, i) => expect(row).toEqual(row.map((_, j) => sees(i, j))));
      expect(presetOf(settings)).toBe(name);
      expect(faults(PRESETS[name]!.story(PRESETS[name]!.rules))).toEqual([]);
    },
  );

  test.each([
    ["BERT, padded", 408],
    ["Longformer", 196],
  ])("%s is not causal: %i of 576 pairs are visible", async (name, pairs) => {
    expect(sum((await drawn(PRESETS[name]!.rules)).seen)).toBe(pairs);
  });

  test("one is pressed while the settings are its rules, and none after a change", () => {
    expect(presetOf(initial(fields))).toBe("Mistral 7B");
    expect(presetOf({ ...PRESETS["GPT"]!.rules, keyLength: 24 })).toBe("GPT"); // all keys, said in another way
    expect(presetOf({ ...PRESETS["GPT"]!.rules, sharpness: 2 })).toBeUndefined();
  });

  test("longer keys are no padding: presets mean all keys, not 24", () => {
    expect(findingOf({ ...PRESETS["GPT, next tokens"]!.rules, keys: 30 })).toMatch(/^A query sees 25 to 30 of 30 keys/);
  });
});

describe("the lessons", () => {
  const plain: Settings = { ...PRESETS["GPT"]!.rules, causal: "off" };
  const weight = async (change: Partial<Settings>) => {
    const settings = { ...plain, ...change };
    const { probs } = await drawn(settings);
    return (i: number, j: number, head = 0) => probs[(head * settings.queries + i) * settings.keys + j]!;
  };

  test("causal: a later key has no weight, and the first row sees itself alone", async () => {
    const p = await weight({ causal: "lower-right" });
    for (let i = 0; i < 24; i++) for (let j = i + 1; j < 24; j++) expect(p(i, j)).toBe(0);
    expect(p(0, 0)).toBe(1);
    expect(findingOf({ ...plain, causal: "lower-right" })).toBe(
      "A query sees 1 to 24 of 24 keys: 300 of 576 pairs, 52\u00a0%.",
    );
  });

  test("padding: the keys beyond the length have no weight, in every row", async () => {
    const p = await weight({ keyLength: 17 });
    for (let i = 0; i < 24; i++) for (let j = 0; j < 24; j++) expect(p(i, j) > 0).toBe(j < 17);
    expect(findingOf({ ...plain, keyLength: 17 })).toBe("Every query sees 17 of 24 keys: 408 of 576 pairs, 71\u00a0%.");
  });

  test("a window: keys farther than its sides have no weight", async () => {
    const p = await weight({ left: 3, right: 1 });
    for (let i = 0; i < 24; i++) for (let j = 0; j < 24; j++) expect(p(i, j) > 0).toBe(j >= i - 3 && j <= i + 1);
  });

  test("self-exclusion under a causal mask: row 0 sees nothing, and row 1 sees key 0 alone", async () => {
    const change = { causal: "lower-right", excludeSelf: true } as const;
    const p = await weight(change);
    for (let i = 0; i < 24; i++) expect(p(i, i)).toBe(0);
    expect(p(1, 0)).toBe(1);
    const settings = { ...plain, ...change };
    expect(words.emptyWords(settings, words.seenBy(settings))).toMatch(/^1 row sees nothing \(0; rows count from 0/);
  });

  test("grouped heads: with equal queries, heads of a group have equal weights, and other heads have not", async () => {
    const settings = { ...plain, heads: 4, kvHeads: 2 };
    const { query, key, value } = tensorsOf(settings);
    const size = query.data.length / 4;
    for (let head = 1; head < 4; head++) query.data.copyWithin(head * size, 0, size);
    const { probs } = await hw.scaledDotProductAttention(query, key, value, { returns: { probs: true } });
    const [a, b, c, d] = [0, 1, 2, 3].map((head) => [...probs.data.subarray(head * 576, (head + 1) * 576)]);
    expect(b).toEqual(a);
    expect(d).toEqual(c);
    expect(c).not.toEqual(a);
    expect(words.groupWords(settings)).toBe(
      "2 query heads share each of 2 key heads: the cache of keys and values is 2 times smaller.",
    );
  });
});
