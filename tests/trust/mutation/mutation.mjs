// npm run mutation: changes the code in small ways, and counts how many of these mutants the tests notice.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { buildForTests } from "../../../web/build/build.mjs";
import { installPackages } from "../../../web/build/packages.mjs";
import { say, useGroups } from "../../../web/build/run.mjs";
import { namesIn, optionsOf, wholeNumber } from "../../../web/build/usage.mjs";
import { today } from "../../figures/file.mjs";
import { machine } from "../machine.mjs";
import * as cpp from "./cpp.mjs";
import { reasonOf } from "./known.mjs";
import { sampleOf } from "./sample.mjs";
import { GOAL, markdownOf, scoreOf } from "./score.mjs";
import { mutationFolder } from "./folder.mjs";
import * as typescript from "./typescript.mjs";

const LANGUAGES = { cpp, typescript };

const USAGE = `npm run mutation -- [options]: 60 mutants of each language, or
  --only LIST    of cpp, typescript
  --mutants N    so many of each language
  --seed N       other mutants, default 1
  --list         all mutants of the sample, without running anything
  --help         this text
The report goes to build/mutation/mutation.md, and all mutants to build/mutation/mutation.json. The exit status is 0 if
at least 85 % are killed.`;

function readOptions() {
  const values = optionsOf(USAGE, { likely: "only" });
  const all = Object.keys(LANGUAGES);
  return {
    languages: values.only === undefined ? all : namesIn("--only", values.only, all),
    count: wholeNumber("--mutants", values.mutants ?? "60", 1),
    seed: wholeNumber("--seed", values.seed ?? "1", 0),
    isList: values.list,
  };
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
  if (options.isList) {
    await installPackages();
    await list(options);
  } else {
    useGroups();
    await buildForTests();
    process.exitCode = (await measureAll(options)) >= GOAL ? 0 : 1;
  }
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
