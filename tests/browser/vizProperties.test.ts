// What a page sets of the elements is read once, when it is set: what breaks a rule is refused there and changes nothing.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Browser, type Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import type { Headwise } from "./page.js";
import { causalProbs, drawn, end, openElement, told } from "./vizPage.js";

const SIZE = 6;
const PROBS = causalProbs(3, SIZE);

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => end(browser));

/** Runs in the page: whatever is read of these throws. */
function placeTraps() {
  const trap = () => {
    throw new Error("trapped");
  };
  Object.assign(window, {
    proxy: new Proxy([], { get: trap }),
    trapped: (name: string, rest: object) => Object.defineProperty(rest, name, { get: trap }),
  });
}

/** Values and what is said of them. */
const NO_TEXTS: readonly (readonly [given: string, said: string])[] = [
  ["3", "must be a list of strings, got 3"],
  ['"words"', 'must be a list of strings, got "words"'],
  ["{}", "must be a list of strings, got an empty object"],
  ["new Set()", "must be a list of strings, got a Set"],
  ["new Float32Array(1)", "must be a list of strings, got a Float32Array of 1"],
  ['["a", 3]', "[1] must be a string, got 3"],
  ['[, "a"]', "[0] must be a string, got undefined"],
  ["new Array(2 ** 32 - 1)", "must have at most 16777216 entries, got 4294967295"],
  ["proxy", "could not be read: trapped"],
];

/** A property, the value that is set as an expression, and what the error says behind the name of the property. */
type Refusal = readonly [property: string, given: string, said: string];

const OF_BOTH: readonly Refusal[] = [
  ...["tokens", "queryTokens", "keyTokens", "headNames"].flatMap((name) =>
    NO_TEXTS.map(([given, said]): Refusal => [name, given, said]),
  ),
  ["isHidden", "true", "must be a function, got true"],
  ["isHidden", '"causal"', 'must be a function, got "causal"'],
  ["batch", "-1", "must be an integer of at least 0, got -1"],
  ["batch", "NaN", "must be an integer of at least 0, got NaN"],
  ["batch", '"1"', 'must be an integer of at least 0, got "1"'],
  ["batch", "1n", "must be an integer of at least 0, got 1n"],
  ["label", "3", "must be a string, got 3"],
  ["label", 'Symbol("Layer")', "must be a string, got a symbol"],
  ["theme", '"drak"', 'must be "light" or "dark", got "drak"'],
  ["theme", '""', 'must be "light" or "dark", got ""'],
  ["theme", "true", 'must be "light" or "dark", got true'],
];
const OF_MAP: readonly Refusal[] = [
  ["kind", '"prbs"', 'must be "probs" or "scores", got "prbs"'],
  ["kind", '""', 'must be "probs" or "scores", got ""'],
  ["head", "-1", "must be an integer of at least 0, got -1"],
  ["head", "0.5", "must be an integer of at least 0, got 0.5"],
  ["range", '"min"', 'must be "max", "row", "unit" or [low, high], got "min"'],
  ["range", "5", 'must be "max", "row", "unit" or [low, high], got 5'],
  ["range", "[1]", "must be [low, high], got [1]"],
  ["range", "[1, NaN]", "[1] must be a finite number, got NaN"],
  ["range", '["0", 1]', '[0] must be a finite number, got "0"'],
  ["range", "[2, 1]", "[1] must be at least range[0], got 1 and 2"],
  ["range", "proxy", "could not be read: trapped"],
  ["palette", '"rainbow"', 'must be "auto" or "viridis" or .*, got "rainbow"'],
  ["palette", '"constructor"', 'must be .*, got "constructor"'],
  ["cell", "3", "must be { query, key }, got 3"],
  ["cell", "{ query: 1 }", ".key must be given: an integer of at least 0"],
  ["cell", "{ query: -1, key: 0 }", ".query must be an integer of at least 0, got -1"],
  ["cell", 'trapped("key", { query: 0 })', "could not be read: trapped"],
  ["view", "3", "must be { queries: [from, to], keys: [from, to] }, got 3"],
  ["view", "{ queries: [0, 2] }", ".keys must be [from, to], got undefined"],
  ["view", "{ queries: [0], keys: [0, 2] }", ".queries must be [from, to], got [0]"],
  ["view", "{ queries: [0, NaN], keys: [0, 2] }", ".queries[1] must be a finite number, got NaN"],
  ["view", "{ queries: [0, 2], keys: [2, 2] }", ".keys[1] must be greater than view.keys[0], got 2 and 2"],
  ["view", 'trapped("queries", { keys: [0, 1] })', "could not be read: trapped"],
  ["describe", '"words"', 'must be a function, got "words"'],
];
const OF_HEADS: readonly Refusal[] = [
  ["threshold", "-0.1", "must be at least 0, got -0.1"],
  ["threshold", "NaN", "must be a finite number, got NaN"],
  ["threshold", '"0.5"', 'must be a finite number, got "0.5"'],
  ["enabled", "3", "must be a list of numbers, got 3"],
  ["enabled", "new Set([1])", ".* got a Set"],
  ["enabled", "[0, -1]", "[1] must be an integer of at least 0, got -1"],
  ["enabled", "proxy", "could not be read: trapped"],
  ["selection", "3", "must be an object, got 3"],
  ["selection", "{ queries: 1 }", ".queries must be a list of numbers, got 1"],
  ["selection", "{ keys: [0.5] }", ".keys[0] must be an integer of at least 0, got 0.5"],
  ["selection", 'trapped("keys", { queries: [0] })', "could not be read: trapped"],
];

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
const exactly = (text: string) => text.split(".*").map(escaped).join(".*");

describe.each([
  ["attention-map", [...OF_BOTH, ...OF_MAP]],
  ["attention-heads", [...OF_BOTH, ...OF_HEADS]],
] as const)("<%s>", (tag, refused) => {
  let page: Page;
  let troubles: string[];
  beforeAll(async () => {
    ({ page, troubles } = await openElement(browser, tag, PROBS, { bypassCSP: true })); // for expressions as text
    await page.evaluate(placeTraps);
  });

  /** What the page sees after an assignment. */
  const assign = (property: string, given: string) =>
    page.evaluate<string>(`(() => {
      const look = () => JSON.stringify([map.${property}, map.getAttribute("${property}")]);
      const before = look();
      try { map.${property} = ${given}; return "was taken: " + look(); }
      catch (error) { return error.name + " " + error.message + (look() === before ? "" : " and changed " + look()); }
    })()`);

  test.each(refused)("%s = %s is refused", async (property, given, said) => {
    const space = /^[.[]/.test(said) ? "" : " ";
    expect(await assign(property, given)).toMatch(
      new RegExp(`^OptionError ${tag}: ${exactly(`${property}${space}${said}`)}(; did you mean .*)?$`),
    );
  });

  test("draws as before after all of that", async () => {
    await drawn(page);
    expect(await page.locator("[part=readout]").textContent()).not.toMatch(/must/);
    expect(await told(page, "sourceerror")).toEqual([]);
    expect(troubles).toEqual([]);
  });

  test("undefined and null bring the default back", async () => {
    const defaults: Record<string, readonly [set: string, fallback: string]> = {
      tokens: ['["a"]', "[]"],
      queryTokens: ['["a"]', "[]"],
      keyTokens: ['["a"]', "[]"],
      headNames: ['["a"]', "[]"],
      batch: ["0", "0"],
      label: ['"Layer 2"', '"Attention"'],
      theme: ['"dark"', "null"],
      causal: ["true", "false"],
      controls: ["true", "false"],
      ...(tag === "attention-map"
        ? {
            kind: ['"scores"', '"probs"'],
            head: ["1", "0"],
            range: ["[-2, 2.1]", '"max"'],
            palette: ['"red-blue"', '"auto"'],
            cell: ["{ query: 1, key: 0, head: 5 }", "null"],
            view: ["{ queries: [1, 2], keys: [0, 1] }", "{ queries: [0, 6], keys: [0, 6] }"],
            values: ["true", "false"],
            locked: ["true", "false"],
          }
        : {
            threshold: ["0.5", "0.05"],
            enabled: ["[1]", "[0, 1, 2]"],
            selection: ["{ queries: [1, 2], keys: [] }", "{ queries: [], keys: [] }"],
          }),
    };
    const is = (property: string, value: string) =>
      page.evaluate<[string, string]>(`[JSON.stringify(map.${property}), JSON.stringify(${value})]`);
    for (const [property, [set, fallback]] of Object.entries(defaults))
      for (const absent of ["undefined", "null"]) {
        await assign(property, set);
        const [was, wanted] = await is(property, set.replace(", head: 5", ""));
        if (property !== "view") expect([property, was]).toEqual([property, wanted]);
        for (let again = 0; again < 2; ++again) await assign(property, absent); // the second time it is the default already
        const [now, usual] = await is(property, fallback);
        expect([property, absent, now]).toEqual([property, absent, usual]);
      }
    for (const property of ["isHidden", "mask", ...(tag === "attention-map" ? ["describe"] : [])])
      for (const absent of ["undefined", "null"]) expect(await assign(property, absent)).toMatch(/^was taken: \[null/);
  });

  test("lists are copied, and what is read back cannot change them", async () => {
    const seen = await page.evaluate(`(() => {
      const given = ["a", "b", "c", "d", "e", "f"];
      map.tokens = given;
      given[0] = 3;
      given.length = 1;
      try { map.tokens[1] = 3; } catch {}
      return [map.tokens, map.queryTokens, map.keyTokens].map((list) => list.join(""));
    })()`);
    expect(seen).toEqual(["abcdef", "abcdef", "abcdef"]);
    await drawn(page);
    await page.evaluate("map.tokens = []");
  });

  test("rows that a source should not give are the element's error, and redraw() asks again", async () => {
    await page.evaluate(`(() => {
      let tries = 0;
      const answers = [new Float32Array(3), [0, 1, 2, 3], Promise.resolve(new Float32Array(4).fill(0.5))];
      map.source = { heads: 1, queries: 2, keys: 2, rows: () => answers[Math.min(tries++, 2)] };
    })()`);
    await page.getByText("source.rows(0, 0, 2) must give (to − from) × keys = 2 × 2 numbers, got 3").waitFor();
    await page.evaluate("map.redraw()");
    await page.getByText("source.rows(0, 0, 2) must give a Float32Array, got [0, 1, 2, 3]").waitFor();
    await page.evaluate("map.redraw()");
    await page.getByText(tag === "attention-map" ? "Point at a cell" : "Strongest links").waitFor();
    expect(await told(page, "sourceerror")).toHaveLength(2);
    await page.evaluate("map.source = { heads: 1, queries: 2, keys: 2, rows: () => { throw Object.create(null); } }");
    await page.getByText("an object that is no error").waitFor();
    expect(troubles).toEqual([]);
  });
});

describe("the methods of <attention-map>", () => {
  let page: Page;
  beforeAll(async () => {
    ({ page } = await openElement(browser, "attention-map", PROBS, { bypassCSP: true }));
    await page.evaluate(placeTraps);
  });

  /** What a call gives, or its error. */
  const call = (text: string) =>
    page.evaluate<string>(`(async () => {
      const before = JSON.stringify(map.view);
      try { return "gave " + typeof (await map.${text}); }
      catch (error) { return error.name + " " + error.message + (JSON.stringify(map.view) === before ? "" : " and moved"); }
    })()`);

  test.each([
    ["zoomBy()", "zoomBy: factor must be given: a finite number above 0"],
    ["zoomBy(0)", "zoomBy: factor must be above 0, got 0"],
    ["zoomBy(-2)", "zoomBy: factor must be above 0, got -2"],
    ["zoomBy(NaN)", "zoomBy: factor must be a finite number, got NaN"],
    ['zoomBy("2")', 'zoomBy: factor must be a finite number, got "2"'],
    ["toPNG(3)", "toPNG: options must be an object, got 3"],
    ["toPNG({ ratio: 3 })", 'toPNG: unknown option "ratio"'],
    ["toPNG({ pixelRatio: 0 })", "toPNG: pixelRatio must be above 0, got 0"],
    ["toPNG({ pixelRatio: NaN })", "toPNG: pixelRatio must be a finite number, got NaN"],
    ['toPNG({ pixelRatio: "2" })', 'toPNG: pixelRatio must be a finite number, got "2"'],
    ["toCSV(3)", "toCSV: part must be an object, got 3"],
    ["toCSV({ rows: [0, 1] })", 'toCSV: unknown option "rows" in part'],
    ["toCSV({ queries: 3 })", "toCSV: part.queries must be [from, to], got 3"],
    ["toCSV({ queries: [0.5, 2] })", "toCSV: part.queries[0] must be an integer, got 0.5"],
    ["toCSV({ queries: [-1, 2] })", "toCSV: part.queries must be within the 6 queries, got [-1, 2]"],
    ["toCSV({ keys: [2, 2] })", "toCSV: part.keys[1] must be greater than part.keys[0], got 2 and 2"],
    ["toCSV({ keys: [0, 7] })", "toCSV: part.keys must be within the 6 keys, got [0, 7]"],
    ['toCSV(trapped("keys", {}))', "toCSV: part could not be read: trapped"],
  ])("%s is refused", async (text, said) => {
    const error = await call(text);
    expect(error.slice(0, `OptionError attention-map.${said}`.length)).toBe(`OptionError attention-map.${said}`);
    expect(error).not.toMatch(/and moved$/);
  });

  test("take what they may, and null and undefined as absent", async () => {
    for (const text of ["zoomBy(1)", "zoomBy(1e30)", "resetView()"]) expect(await call(text)).toBe("gave undefined");
    for (const text of ["toPNG()", "toPNG(undefined)", "toPNG({})", "toPNG({ pixelRatio: undefined })"])
      expect(await call(text)).toBe("gave object");
    for (const text of ["toCSV()", "toCSV({ queries: undefined })", "toCSV({ queries: [1, 2], keys: [0, 6] })"])
      expect(await call(text)).toBe("gave string");
    expect(await page.evaluate<string>("map.toCSV({ queries: [1, 2], keys: [0, 3] })")).toMatch(
      /^,The,cat,sat\r\ncat,/,
    );
  });

  test("say in a typed error that nothing is drawn, or that a picture is too large", async () => {
    expect(await call("toPNG({ pixelRatio: 1000 })")).toMatch(/^UnsupportedError attention-map\.toPNG: .* too large/);
    await page.evaluate("map.probs = undefined");
    for (const name of ["toSVG", "toPNG", "toCSV"])
      expect(await call(`${name}()`)).toBe(`UnsupportedError attention-map.${name}: there is nothing to save yet`);
  });
});

test.each(["attention-map", "attention-heads"] as const)(
  "<%s> asks a source that fails once, until redraw()",
  async (tag) => {
    const { page, troubles, close } = await openElement(browser, tag, undefined, { bypassCSP: true });
    await page.evaluate(`(() => {
    window.asked = 0;
    const rows = () => (++asked, Promise.reject(new Error("device lost")));
    map.source = { heads: 2, queries: 2000, keys: 2000, rows };
  })()`);
    for (const times of [1, 2]) {
      await page.getByText("device lost").waitFor();
      for (let picture = 0; picture < 5; ++picture) await drawn(page);
      expect([await page.evaluate("asked"), await told(page, "sourceerror")]).toMatchObject([times, { length: 1 }]);
      await page.evaluate("map.redraw()");
    }
    expect(troubles).toEqual([]);
    await close();
  },
);

test("attributes keep their fallbacks: what is illegal there counts as absent", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-map", PROBS, { bypassCSP: true });
  const shown = await page.evaluate(`(() => {
    for (const [name, value] of [["kind", "x"], ["head", "x"], ["range", "x y"], ["palette", "constructor"], ["theme", "x"]])
      map.setAttribute(name, value);
    const ranges = ["2 0", " -1, 2\\n"].map((range) => (map.setAttribute("range", range), map.range));
    return [map.kind, map.head, ...ranges, map.palette, map.theme];
  })()`);
  expect(shown).toEqual(["probs", 0, "max", [-1, 2], "auto", null]);
  await drawn(page);
  expect(await page.textContent("[part=readout]")).toMatch(/^Point at a cell/);
  await page.evaluate('map.setAttribute("batch", "x")');
  await page.getByText("batch must be one of the 1 sequences of probs, got NaN").waitFor();
  expect(troubles).toEqual([]);
  await close();
});

test("a threshold below 0 in an attribute counts as absent", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-heads", PROBS, { bypassCSP: true });
  for (const value of ["-1", "", "x"]) {
    await page.evaluate((given) => document.querySelector("attention-heads")!.setAttribute("threshold", given), value);
    await drawn(page);
    expect(await page.getByRole("slider").getAttribute("aria-valuetext")).toBe("5\u00a0%");
  }
  expect(troubles).toEqual([]);
  await close();
});

test("what depends on the numbers is that of the last ones set, drawn or not", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-map", PROBS, { bypassCSP: true });
  const read = await page.evaluate(`(() => {
    const probs = (heads, size) => ({ data: new Float32Array(heads * size * size), shape: [heads, size, size] });
    map.head = 2;
    map.probs = probs(2, 8);
    const links = document.createElement("attention-heads");
    document.body.append(links);
    links.probs = probs(4, 2);
    return { head: map.head, view: map.view, enabled: links.enabled };
  })()`);
  expect(read).toEqual({ head: 1, view: { queries: [0, 8], keys: [0, 8] }, enabled: [0, 1, 2, 3] });
  expect(troubles).toEqual([]);
  await close();
});

test("a mask is of the kinds that calls take: numbers that are added to scores are refused", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-map", PROBS, { bypassCSP: true });
  const set = (mask: string) =>
    page.evaluate<string>(`(() => {
      try {
        map.mask = ${mask};
        return "taken";
      } catch (error) {
        return error.message;
      }
    })()`);
  expect(await set("{ data: Float32Array.of(0, 0, 0, 0, 0, -Infinity), shape: [6] }")).toMatch(
    /^headwise\/viz: mask must be of dtype bool, got float32/,
  );
  for (const mask of [
    "{ data: Uint8Array.of(1, 1, 1, 1, 1, 0), shape: [6] }",
    "[[true, true, true, true, true, false]]",
    "{ data: BigInt64Array.of(1n, 1n, 1n, 1n, 1n, 0n), dims: [6] }",
    "null",
  ])
    expect(await set(mask)).toBe("taken");
  expect(troubles).toEqual([]);
  await close();
});

test("a callback of the page that throws is the page's error, and the element draws again without it", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-map", PROBS, { bypassCSP: true });
  await page.evaluate('map.isHidden = () => { throw new Error("mine"); }');
  await drawn(page);
  expect(troubles.join()).toMatch(/mine/);
  await page.evaluate("map.isHidden = undefined; map.head = 1");
  await drawn(page);
  expect(await page.getByRole("radio", { checked: true }).textContent()).toBe("head 1");
  await close();
});

test("an illegal value that was set before the definition is told, and the others count", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-map", undefined, { bypassCSP: true });
  const head = await page.evaluate(`(async () => {
    const early = document.createElement("late-map");
    const probs = { data: new Float32Array(8).fill(0.5), shape: [2, 2, 2] };
    Object.assign(early, { tokens: 3, kind: "prbs", probs, head: 1 });
    document.body.append(early);
    const { AttentionMap } = await import("/viz.js");
    AttentionMap.define("late-map");
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return [early.shadowRoot.querySelector("[aria-checked=true]")?.textContent, early.tokens, early.kind];
  })()`);
  expect(head).toEqual(["head 1", [], "probs"]);
  expect(troubles.join()).toMatch(/late-map: tokens must be a list of strings, got 3/);
  await close();
});

test("a selection beyond the tokens asks the source for nothing", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-heads", undefined, { bypassCSP: true });
  await page.evaluate(`(() => {
    window.asked = [];
    const rows = (head, from, to) => { asked.push([from, to]); return new Float32Array((to - from) * 4).fill(0.25); };
    map.selection = { queries: [1, 2000000000], keys: [9] };
    map.source = { heads: 1, queries: 4, keys: 4, rows };
  })()`);
  await drawn(page);
  expect(await page.evaluate("map.selection")).toEqual({ queries: [1], keys: [] });
  await page.evaluate("map.selection = { queries: [2000000000] }; map.redraw()");
  await drawn(page);
  expect(await page.evaluate("asked")).toEqual([
    [0, 4],
    [0, 4],
  ]);
  expect(troubles).toEqual([]);
  await close();
});

describe.each(["attention-map", "attention-heads"] as const)("every property of <%s>", (tag) => {
  test("refuses what throws when it is read with a typed error, and the element still draws", async () => {
    const { page, troubles, close } = await openElement(browser, tag, PROBS);
    const bad = await page.evaluate(async (name) => {
      const address = "/index.js";
      const { HeadwiseError } = (await import(address)) as Headwise;
      const thrower = () => {
        throw new RangeError("not yours");
      };
      const revoked = (target: object) => {
        const { proxy, revoke } = Proxy.revocable(target, {});
        revoke();
        return proxy;
      };
      const throwing = (target: object) => new Proxy(target, new Proxy({}, { get: () => thrower }));
      const NAMES = ["data", "shape", "heads", "rows", "length", "query", "queries", "0"];
      const getters = Object.defineProperties({}, Object.fromEntries(NAMES.map((of) => [of, { get: thrower }])));
      const values = [{}, [1, 2], () => 1].flatMap((target) => [revoked(target), throwing(target)]);
      const others = [
        getters,
        [revoked({})],
        [getters],
        class {},
        Symbol("s"),
        2n ** 70n,
        { data: revoked([]), shape: [1] },
      ];
      const element = document.querySelector(name)! as unknown as Record<string, unknown>;
      const properties: string[] = [];
      for (
        let holder: object = element;
        holder !== HTMLElement.prototype;
        holder = Object.getPrototypeOf(holder) as object
      )
        for (const [property, described] of Object.entries(Object.getOwnPropertyDescriptors(holder)))
          if (described.set) properties.push(property);
      const bad: string[] = properties.length < 10 ? ["there are too few properties"] : [];
      for (const property of properties)
        for (const [n, value] of [...values, ...others].entries()) {
          const before = element[property];
          try {
            element[property] = value;
            element[property] = before;
          } catch (error) {
            if (!HeadwiseError.is(error)) bad.push(`${property}, value ${n}: ${String(error)}`);
          }
        }
      return bad;
    }, tag);
    expect(bad).toEqual([]);
    await drawn(page);
    expect(troubles).toEqual([]);
    await close();
  });
});

test.each(["attention-map", "attention-heads"])("%s is drawn in another document, and here again", async (tag) => {
  const { page, troubles, close } = await openElement(browser, tag as "attention-map", PROBS, { bypassCSP: true });
  const shown = await page.evaluate(`(async () => {
    const frames = async () => { for (let n = 0; n < 3; ++n) await new Promise((resolve) => requestAnimationFrame(resolve)); };
    const frame = document.createElement("iframe");
    frame.style.width = "600px";
    document.body.append(frame);
    const look = async (place) => {
      place.append(map);
      await frames();
      const plot = map.shadowRoot.querySelector("[part=plot]");
      return [map.clientWidth > 500, plot.hidden, getComputedStyle(plot).position, plot.querySelector("canvas").clientWidth > 100];
    };
    return [await look(frame.contentDocument.body), await look(document.body)];
  })()`);
  expect(shown).toEqual([0, 1].map(() => [true, false, "relative", true]));
  expect(troubles).toEqual([]);
  await close();
});

test.each(["probs", "source"])("%s that is undefined or null leaves the other one", async (absent) => {
  const { page, close } = await openElement(browser, "attention-map", undefined, { bypassCSP: true });
  const other = absent === "probs" ? "source" : "probs";
  const kept = await page.evaluate(`(() => {
    const given = {
      probs: { data: new Float32Array(4), shape: [2, 2] },
      source: { heads: 1, queries: 2, keys: 2, rows: () => new Float32Array(4) },
    };
    map.${other} = given.${other};
    map.${absent} = undefined;
    map.${absent} = null;
    const stays = map.${other} === given.${other};
    map.${absent} = given.${absent};
    return [stays, map.${other}, map.${absent} === given.${absent}];
  })()`);
  expect(kept).toEqual([true, undefined, true]);
  await close();
});

describe("what a listener sets while the element draws", () => {
  // Of a fixed height: no change of size draws it again.
  const open = async () => {
    const opened = await openElement(browser, "attention-map", PROBS, { bypassCSP: true });
    await opened.page.evaluate('map.style.height = "800px"');
    await drawn(opened.page);
    return opened;
  };

  test("is drawn: numbers in place of a source that fails, and a batch that is there", async () => {
    const { page, close } = await open();
    await page.evaluate(`(() => {
      const { probs } = map;
      map.addEventListener("sourceerror", () => (map.probs = probs), { once: true });
      map.source = { heads: 1, queries: 6, keys: 6, rows() { throw new Error("no rows"); } };
    })()`);
    await page.getByText("no rows").waitFor({ state: "hidden" });
    await drawn(page);
    expect(await page.textContent("[part=readout]")).toMatch(/^Point at a cell/);
    await page.evaluate(`(() => {
      map.addEventListener("sourceerror", () => (map.batch = 0), { once: true });
      map.batch = 3;
    })()`);
    await drawn(page);
    await drawn(page);
    expect(await page.textContent("[part=readout]")).toMatch(/^Point at a cell/);
    await close();
  });

  test("is drawn: a head and its name", async () => {
    const { page, close } = await open();
    await page.evaluate(`(() => {
      map.addEventListener("slices", () => Object.assign(map, { headNames: ["one", "two"], head: 1 }), { once: true });
      map.redraw();
    })()`);
    await drawn(page);
    await drawn(page);
    expect(await page.getByRole("radio", { checked: true }).textContent()).toBe("two");
    await close();
  });
});

test("a pointer that moves in the frame in which the numbers go reads no cell", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-map", PROBS, { bypassCSP: true });
  await page.evaluate(`(() => {
    map.style.height = "800px";
    const grid = map.shadowRoot.querySelector("[role=grid]");
    const { left, top } = grid.getBoundingClientRect();
    map.probs = undefined;
    grid.dispatchEvent(new PointerEvent("pointermove", { clientX: left + 5, clientY: top + 5 }));
  })()`);
  await drawn(page);
  await drawn(page);
  expect(troubles).toEqual([]);
  expect(await page.textContent("[part=readout]")).toBe("Nothing to show yet.");
  await close();
});

test.each(["attention-map", "attention-heads"] as const)(
  "%s is drawn again when the screen has more pixels and the element the same size",
  async (tag) => {
    const { page, close } = await openElement(browser, tag, PROBS, { bypassCSP: true });
    await page.evaluate(`(() => {
      const usual = matchMedia;
      window.queries = [];
      window.matchMedia = (text) => {
        const query = usual(text);
        if (text.includes("resolution")) queries.push(query);
        return query;
      };
      map.style.width = "500px";
      map.remove();
      document.body.append(map);
    })()`);
    await drawn(page);
    const width = () => page.evaluate<number>('map.shadowRoot.querySelector("[part=plot] canvas").width');
    const before = await width();
    const devtools = await page.context().newCDPSession(page);
    for (const deviceScaleFactor of [2, 3]) {
      const screen = { width: 1000, height: 900, deviceScaleFactor, mobile: false };
      await devtools.send("Emulation.setDeviceMetricsOverride", screen);
      await page.evaluate('queries.at(-1).dispatchEvent(new Event("change"))'); // no event comes of an emulated screen
      await drawn(page);
      expect(await width()).toBe(before * deviceScaleFactor);
    }
    expect(await page.evaluate("queries.map(({ media }) => media)")).toEqual(
      [1, 2, 3].map((ratio) => `(resolution: ${ratio}dppx)`),
    );
    await close();
  },
);

test("nothing can be saved while nothing is drawn", async () => {
  const { page, troubles, close } = await openElement(browser, "attention-map", PROBS, { bypassCSP: true });
  const canSave = async () => {
    await drawn(page);
    const buttons = await page.getByRole("button", { name: /^Save/ }).all();
    return Promise.all(buttons.map((button) => button.isEnabled()));
  };
  expect(await canSave()).toEqual([true, true, true]);
  await page.evaluate("map.probs = undefined");
  expect(await canSave()).toEqual([false, false, false]);
  await page.evaluate(`map.shadowRoot.querySelectorAll("[part=toolbar] button").forEach((button) => button.click())`);
  await drawn(page);
  expect(troubles).toEqual([]);
  await close();
});
