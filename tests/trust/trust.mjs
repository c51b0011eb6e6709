// npm run trust: measures what headwise promises, and writes a table in which each row is a command.
//
//   npm run trust                        every row in full: up to 90 minutes
//   npm run trust -- --quick             every row with less work, as CI does: about 8 minutes
//   npm run trust -- --only=soak         some rows (comma-separated)
//   npm run trust -- --seed=7            other random numbers (default 1)
//   npm run trust -- --record            also keeps the figures in tests/figures/figures.json, and fills the pages
//   npm run trust -- --list              the names of the rows
//
// The table goes to build/trust/trust.md, and with all numbers to build/trust/trust.json. The exit status is 0 if every
// row holds. The last line is "N passed, N failed, N skipped", with one count for each row.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

import { add, nothing, sentence, VERDICTS } from "../../web/build/counts.mjs";
import { build } from "../../web/build/paths.mjs";
import { say, useGroups } from "../../web/build/run.mjs";
import { today } from "../figures/file.mjs";
import { machine } from "./machine.mjs";
import { record } from "./record.mjs";
import { resultOf } from "./result.mjs";
import { rows } from "./rows/index.mjs";
import { tableOf } from "./table.mjs";

function readOptions() {
  const flag = { type: "boolean", default: false };
  const options = {
    quick: flag,
    record: flag,
    list: flag,
    only: { type: "string" },
    seed: { type: "string", default: "1" },
  };
  const { values } = parseArgs({ options });
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed: must be a whole number, got ${values.seed}`);
  const names = values.only?.split(",");
  const unknown = names?.filter((name) => !rows.some((row) => row.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`--only: no row ${unknown.join(", ")}; --list prints the names`);
  return { ...values, seed, chosen: names ? rows.filter(({ name }) => names.includes(name)) : rows };
}

async function measureAll(options) {
  const results = [];
  for (const row of options.chosen) results.push(await resultOf(row, options));
  const report = { date: today(), machine: machine(), results };
  const folder = path.join(build, "trust");
  mkdirSync(folder, { recursive: true });
  const table = tableOf(report);
  writeFileSync(path.join(folder, "trust.json"), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(path.join(folder, "trust.md"), table);
  console.log(`\n${table}`);
  if (options.record) record(report);
  return results.map(({ verdict }) => VERDICTS[verdict]).reduce(add, nothing);
}

try {
  const options = readOptions();
  if (options.list) {
    for (const { name, what } of rows) console.log(`${name.padEnd(14)} ${what}`);
    process.exit(0);
  }
  useGroups();
  const total = await measureAll(options);
  console.log(`\n${sentence(total)}`);
  process.exit(total.failed === 0 ? 0 : 1); // also ends hanging programs
} catch (error) {
  say(error.message);
  process.exit(1);
}
