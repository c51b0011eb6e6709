// npm run mutation: changes the code in small ways, and counts how many of these mutants the tests notice.
//
//   npm run mutation                          60 mutants of each language
//   npm run mutation -- --only=typescript     or cpp
//   npm run mutation -- --mutants=200         of each language
//   npm run mutation -- --seed=7              other mutants (default 1)
//   npm run mutation -- --list                all mutants of the sample, without running anything
//
// The report goes to build/mutation/mutation.md, and all mutants to build/mutation/mutation.json. The exit status is 0 if at
// least 85 % are killed.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

import { say, useGroups } from "../../../web/build/run.mjs";
import { today } from "../../figures/file.mjs";
import { machine } from "../machine.mjs";
import * as cpp from "./cpp.mjs";
import { reasonOf } from "./known.mjs";
import { sampleOf } from "./sample.mjs";
import { GOAL, markdownOf, scoreOf } from "./score.mjs";
import { mutationFolder } from "./folder.mjs";
import * as typescript from "./typescript.mjs";

const LANGUAGES = { cpp, typescript };

function wholeNumber(name, text) {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name}: must be a whole number, got ${text}`);
  return number;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      list: { type: "boolean", default: false },
      only: { type: "string", default: Object.keys(LANGUAGES).join(",") },
      mutants: { type: "string", default: "60" },
      seed: { type: "string", default: "1" },
    },
  });
  const languages = values.only.split(",");
  const unknown = languages.filter((language) => !Object.hasOwn(LANGUAGES, language));
  if (unknown.length > 0)
    throw new Error(`--only: must name ${Object.keys(LANGUAGES).join(" or ")}, got ${unknown.join(", ")}`);
  const count = wholeNumber("mutants", values.mutants);
  const seed = wholeNumber("seed", values.seed);
  return { languages, count, seed, isList: values.list };
}

/** The sample of a language. */
async function chosenOf(language, { count, seed }) {
  const sample = sampleOf(await LANGUAGES[language].mutants(), count, seed);
  return sample.map((mutant) => ({ ...mutant, language }));
}

const wordsOf = ({ language, area, file, line, operator, before, after }) =>
  `${language}, ${area}: ${file}:${line} ${operator}\n  - ${before}\n  + ${after}`;

/** Measures the sample of a language: `report` gets each mutant with its outcome. */
async function measure(language, options, report) {
  const chosen = await chosenOf(language, options);
  for (const mutant of chosen)
    if (reasonOf(mutant)) report({ ...mutant, outcome: "equivalent", reason: reasonOf(mutant) });
  const open = chosen.filter((mutant) => !reasonOf(mutant));
  let done = 0;
  await LANGUAGES[language].run(open, (mutant, result) => {
    const by = result.by ? ` by ${result.by}` : "";
    say(`${++done}/${open.length} ${result.outcome}${by}: ${mutant.file}:${mutant.line} ${mutant.operator}`);
    report({ ...mutant, ...result });
  });
}

const commandOf = ({ languages, count, seed }) =>
  `npm run mutation -- --only=${languages.join(",")} --mutants=${count} --seed=${seed}`;

function write(report) {
  mkdirSync(mutationFolder, { recursive: true });
  writeFileSync(path.join(mutationFolder, "mutation.json"), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(path.join(mutationFolder, "mutation.md"), markdownOf(report));
}

/** Measures everything. The report is written after each mutant, so that it is there if the command is interrupted. */
async function measureAll(options) {
  const results = [];
  const heading = { command: commandOf(options), machine: `${machine()}, ${today()}` };
  for (const language of options.languages)
    await measure(language, options, (result) => {
      results.push(result);
      write({ ...heading, score: scoreOf(results), results });
    });
  console.log(`\n${markdownOf({ ...heading, results })}`);
  return scoreOf(results);
}

async function list(options) {
  for (const language of options.languages)
    for (const mutant of await chosenOf(language, options)) console.log(wordsOf(mutant));
}

try {
  const options = readOptions();
  if (options.isList) await list(options);
  else {
    useGroups();
    process.exitCode = (await measureAll(options)) >= GOAL ? 0 : 1;
  }
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
