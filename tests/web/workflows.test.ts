// The workflows, as GitHub's own parser reads them: what CI and a release run is what is in this repository.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";
import { expect, test } from "@jest/globals";

const FOLDER = ".github/workflows";
const names = readdirSync(FOLDER);
const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

const read = (name: string, content = readFileSync(path.join(FOLDER, name), "utf8")) =>
  parseWorkflow({ name, content }, new NoOperationTraceWriter());

const complaints = ({ context }: ReturnType<typeof read>) => context.errors.getErrors().map(({ message }) => message);

/** What the steps of all workflows run, line by line. */
async function commands(): Promise<string[]> {
  const found = await Promise.all(
    names.map(async (name) => {
      const { context, value } = read(name);
      const { jobs } = await convertWorkflowTemplate(context, value!);
      const steps = jobs.flatMap((job) => (job.type === "job" ? job.steps : []));
      return steps.flatMap((step) => ("run" in step ? [step.run.toDisplayString()] : []));
    }),
  );
  return found.flat();
}

test.each(names)("%s is a workflow without errors", (name) => {
  expect(complaints(read(name))).toEqual([]);
});

test("the parser finds a key, an event and an expression that do not exist", () => {
  const wrong = (text: string) => complaints(read("wrong.yml", text));
  const job = "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: x";
  expect(wrong(`on: push\n${job}`)).toEqual([]);
  expect(wrong(`on: push\n${job}\n        shel: bash`)).not.toEqual([]);
  expect(wrong(`on: pushed\n${job}`)).not.toEqual([]);
  expect(wrong(`on: push\n${job}\n        if: \${{ gitub.ref }}`)).not.toEqual([]);
});

test("every script that a workflow runs exists", async () => {
  const lines = await commands();
  expect(lines.length).toBeGreaterThan(3);
  const called = lines.flatMap((line) => [...line.matchAll(/npm run ([\w:]+)/g)].map((match) => match[1]!));
  expect(called.filter((name) => !(name in scripts))).toEqual([]);
  const files = lines.filter((line) => /^\.?[\w/.]+$/.test(line));
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

test("no workflow runs the code of a pull request with the rights of the repository", () => {
  for (const name of names) {
    const text = readFileSync(path.join(FOLDER, name), "utf8");
    expect(text).not.toMatch(/pull_request_target|workflow_run/);
    expect(text).toMatch(/^permissions:( \{\}|\n {2}contents: read)$/m);
  }
});
