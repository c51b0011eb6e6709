// The operations of formulas in TypeScript, held against the list of C++: cpp/include/headwise/formula_operations.def.

import { describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";

import { OPERATIONS } from "../../web/src/formula/graph.js";
import { arityOf } from "../../web/src/formula/readFormula.js";

const LIST = new URL("../../cpp/include/headwise/formula_operations.def", import.meta.url);

/** Name and number of operands of each operation of C++, in the order of `FormulaOperation`. */
const operations = Array.from(
  readFileSync(LIST, "utf8").matchAll(/^OPERATION\(\w+, (\d), \w+, "(\w+)"\)/gm),
  ([, operands, name]) => [name!, Number(operands)] as const,
);

describe("the operations of formulas", () => {
  test("are those of C++, in the same order: a program names them by number", () => {
    expect(OPERATIONS).toEqual(operations.map(([name]) => name));
  });

  test("have as many operands as in C++", () => {
    expect(OPERATIONS.map((name) => [name, arityOf(name)])).toEqual(operations);
  });
});
