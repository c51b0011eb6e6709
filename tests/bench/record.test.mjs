import { expect, test } from "@jest/globals";

import { recordedTable, rowsOf } from "./record.mjs";
import { readParts } from "../figures/file.mjs";

const recordOf = (name, milliseconds, more) => ({
  case: name,
  group: "dense",
  milliseconds,
  gflops: 36.4,
  roofline: { share: 0.634, binds: "bytes" },
  inside: { share: 0.7, milliseconds: milliseconds / 2 },
  peers: { ort: { ratio: 1.75 } },
  ...more,
});
const runOf = (threads, ...records) => ({ variant: "relaxed", threads, records });
const machine = { engine: "Node 20.1.0" };

test("a row has the figure of one thread, and that of two in brackets", () => {
  const runs = [runOf(1, recordOf("BERT", 18.61)), runOf(2, recordOf("BERT", 9.412, { peers: {} })), { name: "times" }];
  const columns = ["case", "engine", "ms", "GFLOP/s", "binds", "of the roof", "inside", "× its fastest", "× jax-js"];
  expect(rowsOf({ machine, runs }, columns)).toEqual({
    "BERT, Node 20.1.0": ["BERT", "Node 20.1.0", "18.6 (9.41)", "36 (36)", "bytes", "63 % (63 %)", "70 % (70 %)", "1.8 (–)", "–"], // oxfmt-ignore
  });
});

test("a formula stands beside the call that it is compared with; other cases are no rows of such a table", () => {
  const runs = [runOf(1, recordOf("formula causal 12×1024×64", 6), recordOf("causal 12×1024×64", 5))];
  expect(rowsOf({ machine, runs }, ["case", "ms", "compared with", "its ms", "ratio", "goal"])).toEqual({
    "formula causal 12×1024×64": ["formula causal 12×1024×64", "6.00", "causal 12×1024×64", "5.00", "1.20", "1.10"],
  });
});

test("every table of the pages with cases of the bench is one that it can record", () => {
  const isOfBench = ({ commands }) =>
    commands.every((command) => command.startsWith("npm run bench") && !command.includes("--sizes"));
  const names = Object.entries(readParts()).filter(([, part]) => isOfBench(part)).map(([name]) => name); // oxfmt-ignore
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect(recordedTable(name).rows).toBeDefined();
  expect(() => recordedTable("trust")).toThrow("has no table of the bench named trust");
});
