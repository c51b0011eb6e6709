// npm run trust: measures what headwise promises, and writes a table in which each row is a command.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { buildForTests } from "../../web/build/build.mjs";
import { add, nothing, sentence, VERDICTS } from "../../web/build/counts.mjs";
import { build } from "../../web/build/paths.mjs";
import { say, useGroups } from "../../web/build/run.mjs";
import { namesIn, optionsOf, wholeNumber } from "../../web/build/usage.mjs";
import { today } from "../figures/file.mjs";
import { machine } from "./machine.mjs";
import { record } from "./record.mjs";
import { resultOf } from "./result.mjs";
import { rows } from "./rows/index.mjs";
import { tableOf } from "./table.mjs";

const USAGE = `npm run trust -- [options]: every row in full, up to 100 minutes, or
  --quick        every row with less work, as CI does: about 8 minutes
  --only LIST    some rows, such as --only soak,crash
  --seed N       other random numbers, default 1
  --record       also keeps the figures in tests/figures/figures.json, and fills the pages
  --list         the names of the rows
  --help         this text
The table goes to build/trust/trust.md, and with all numbers to build/trust/trust.json. The exit status is 0 if every
row holds. The last line is "N passed, N failed, N skipped", with one count for each row.`;

function readOptions() {
  const values = optionsOf(USAGE, { likely: "only" });
  const all = rows.map(({ name }) => name);
  const names = values.only === undefined ? all : namesIn("--only", values.only, all);
  const isChosen = ({ name }) => names.includes(name);
  return { ...values, seed: wholeNumber("--seed", values.seed ?? "1", 0), chosen: rows.filter(isChosen) };
}

async function measureAll(options) {
  await buildForTests();
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
