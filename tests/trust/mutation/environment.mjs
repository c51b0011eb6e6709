// Jest's environment for mutants. Without a mutant it notes which mutants a test file runs. With one, the first test that
// fails ends the process: the mutant is killed.

import { writeFileSync } from "node:fs";
import path from "node:path";

import { TestEnvironment } from "jest-environment-node";

const { HEADWISE_COVERAGE: coverage } = process.env;

export default class MutantEnvironment extends TestEnvironment {
  #begin = performance.now();
  #file;

  constructor(config, context) {
    super(config, context);
    this.#file = context.testPath;
  }

  handleTestEvent({ name, test }) {
    if (coverage || name !== "test_done" || test.errors.length === 0) return;
    process.stderr.write(`KILLED BY ${path.basename(this.#file)}: ${test.name}\n`);
    process.exit(1);
  }

  async teardown() {
    if (coverage) this.#note();
    await super.teardown();
  }

  #note() {
    const mutants = Object.keys(this.global.__stryker__?.mutantCoverage?.static ?? {});
    const seconds = (performance.now() - this.#begin) / 1000;
    const note = { file: path.relative(process.cwd(), this.#file), seconds, mutants };
    writeFileSync(path.join(coverage, `${note.file.replaceAll("/", "+")}.json`), JSON.stringify(note));
  }
}
