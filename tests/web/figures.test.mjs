// What pages say of sizes and times is what was measured. tests/figures/README.md says how figures come into pages.

import { readFileSync } from "node:fs";

import { describe, expect, test } from "@jest/globals";

import { builtSizes, GZIP_SHARE, ROUNDING_KB } from "../figures/built.mjs";
import { readParts } from "../figures/file.mjs";
import { installSize } from "../figures/installs.mjs";
import { filled, namesIn, pages as allPages, unmeasured } from "../figures/pages.mjs";

const CURE = "npm run figures mends this";
const parts = readParts();
const pages = allPages();
const textOf = (page) => readFileSync(page, "utf8");
const named = pages.flatMap((page) => namesIn(textOf(page)));

describe("README and docs say the figures of the file", () => {
  test.each(pages.filter((page) => namesIn(textOf(page)).length > 0))("%s", (page) => {
    const text = textOf(page);
    expect({ text, CURE }).toEqual({ text: filled(text, parts), CURE });
  });
});

describe("sizes in the file are those of the build", () => {
  test.each(Object.entries(builtSizes()))("%s", (name, size) => {
    const value = parts.build.figures[name]?.value;
    const isTrue = Math.abs(value - size) <= ROUNDING_KB + GZIP_SHARE * size;
    expect({ name, value, size, isTrue, CURE }).toEqual({ name, value, size, isTrue: true, CURE });
  });
});

describe("the file holds what is used, and what is known of it", () => {
  test.each(Object.keys(parts))("%s has commands, a date and a machine", (name) => {
    const { commands, machine, date, figures = {}, rows = {} } = parts[name];
    expect(commands.length).toBeGreaterThan(0);
    // of the whole part, or of each row
    for (const each of machine ? [machine] : Object.values(rows).map((row) => row.at(-1))) expect(each).toMatch(/\S/);
    const dates = date ? [date] : Object.values(figures).map((figure) => figure.date);
    for (const each of dates) expect(each).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  test("every table and every size of the build is on a page", () => {
    const { build, installs, ...tables } = parts;
    const wanted = [...Object.keys(tables), ...Object.keys(build.figures).map((name) => `build/${name}`)];
    expect(wanted.filter((name) => !named.includes(name))).toEqual([]);
    expect(Object.keys(installs.figures)).toContain("node_modules");
  });

  test("the folders whose packages commands install have a size for their message", () => {
    for (const folder of ["", "tests/bench", "tests/package", "tests/package/runtimes", "tests/wgpu"])
      expect(installSize(folder)).toMatch(/^[\d,]+ MB$/);
    expect(installSize("", false)).toMatch(/^[\d,]+ MB$/);
  });
});

describe("a measured size or ratio in a sentence is a figure", () => {
  const checked = pages.filter(
    (page) => ["README.md", "web/demo/README.md"].includes(page) || page.startsWith("web/docs/"),
  );

  // Limits are in KiB, MiB and GiB, and times that limit something are in ms.
  const MEASURED = /\d[\d.,–]* ?(?:KB|MB|GB)\b|\d[\d.,–]* (?:×|times) as (?:fast|long|large)/g;

  test.each(checked)("%s", (page) => {
    expect(unmeasured(textOf(page)).match(MEASURED) ?? []).toEqual([]);
  });
});

describe("filled", () => {
  const made = { commands: ["npm test"], date: "2026-01-02", machine: "a machine" };
  const table = { ...made, columns: ["case", "ms"], rows: { "a 1/2": ["a 1/2", "7 (4)"] }, notes: ["once"] };
  const small = { sizes: { ...made, figures: { "a.js": { value: 1234, unit: "KB" } } }, times: table };
  const fill = (text) => filled(text, small);

  test("gives a figure its value and its unit, wherever it stands", () => {
    const old = "| <!-- figure sizes/a.js -->9 KB<!-- /figure --> | <!-- figure sizes/a.js --><!-- /figure --> |";
    const now = "<!-- figure sizes/a.js -->1,234 KB<!-- /figure -->";
    expect(fill(old)).toBe(`| ${now} | ${now} |`);
    expect(fill(fill(old))).toBe(fill(old));
  });

  test("takes from a cell what stands before the brackets; the name of a row may contain a slash", () => {
    const name = "times/a 1/2/ms";
    expect(fill(`<!-- figure ${name} -->?<!-- /figure -->`)).toBe(`<!-- figure ${name} -->7<!-- /figure -->`);
  });

  test("writes a table with its notes, and when, how and where it was measured", () => {
    const text = [
      "| case | ms |\n|---|---|\n| a 1/2 | 7 (4) |",
      "- once",
      "Measured on 2026-01-02 by `npm test`: a machine.",
    ].join("\n\n");
    expect(fill("a\n\n<!-- table times -->old<!-- /table -->\n\nb")).toBe(
      `a\n\n<!-- table times -->\n\n${text}\n\n<!-- /table -->\n\nb`,
    );
  });

  test.each(["sizes/b.js", "times/a 1/2/s", "times/b/ms", "nothing/a"])(
    "refuses the figure %s, which is not there",
    (name) => {
      expect(() => fill(`<!-- figure ${name} -->1<!-- /figure -->`)).toThrow(`figures.json has no "${name}"`);
    },
  );

  test("refuses a table that is not there", () => {
    expect(() => fill("<!-- table sizes --><!-- /table -->")).toThrow('figures.json has no table "sizes"');
  });
});
