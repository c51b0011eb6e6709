// What a command of package.json says to `--help` and to an option that it does not have: at once, in a bare clone too.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, describe, expect, test } from "@jest/globals";

import { fileToWrite, namesIn, readOptions, wholeNumber } from "../../web/build/usage.mjs";

const USAGE = `npm run example -- [options]
  --fresh       begins anew
  --only LIST   some of them,
                as --also says
  --text TEXT   read aloud
  --flag=value  is part of the text`;

describe("an option", () => {
  const read = (...args) => readOptions(USAGE, args, { repeated: "text", likely: "only" });

  test("is what its usage says", () => {
    expect(read()).toEqual({});
    expect(read("--fresh", "--only", "a,b", "--text=one", "--text", "two", "-h")).toEqual({
      fresh: true,
      only: "a,b",
      text: ["one", "two"],
      help: true,
    });
  });

  test.each([
    [["--ony=a"], "there is no option --ony; did you mean --only?"],
    [["--also"], "there is no option --also"],
    [["--flag=x"], "there is no option --flag"],
    [["--constructor"], "there is no option --constructor"],
    [["a"], '"a" stands alone; write npm run example -- --only "a"'],
    [["--only"], "--only needs a value"],
    [["--fresh=yes"], "--fresh takes no value"],
  ])("%j is refused with what to type instead", (args, message) => {
    expect(() => read(...args)).toThrow(message);
    expect(() => read(...args)).toThrow("\n--help lists the options.");
  });

  test.each(["", " 3", "3\n", "0x3", "3.5", "-1", "1e1", "Infinity", "0", "9"])("%j is no whole number", (text) => {
    expect(() => wholeNumber("--rounds", text, 1, 8)).toThrow(
      `--rounds must be a whole number from 1 to 8, got ${JSON.stringify(text)}`,
    );
  });

  test("that names something unknown is refused with what there is", () => {
    expect(namesIn("--only", "b,a,b", ["a", "b"])).toEqual(["b", "a"]);
    expect(() => namesIn("--only", "a,", ["a", "b"])).toThrow('--only must be one of a, b, got ""');
  });
});

test("a file that could not be written is refused before the work whose results it gets", () => {
  expect(fileToWrite("--save", "here.json")).toBe("here.json");
  expect(() => fileToWrite("--save", "no folder/here.json")).toThrow(
    /^--save: there is no folder .*no folder for the file/,
  );
});

describe("an option before npm's --, which npm keeps for itself", () => {
  const usage = `npm start -- [options]
  --no-serve   an option that npm turns round
  --json       one that npm has, too
  --port N     with a value`;
  const program = path.relative(".", process.argv[1]);
  const read = (env) => readOptions(usage, [], { env: { npm_lifecycle_script: `node ${program}`, ...env } });

  test.each([
    [{ npm_config_serve: "" }, "npm start -- --no-serve"],
    [{ npm_config_json: "true" }, "npm start -- --json"],
    [{ npm_config_port: "8081" }, "npm start -- --port=8081"],
    [{ npm_config_port: "true" }, "npm start -- --port N"],
    [{ npm_config_port: "1", npm_config_serve: "" }, "npm start -- --no-serve --port=1"],
  ])("%j: is refused with what to type instead", (env, command) => {
    expect(() => read(env)).toThrow(`Options stand behind "--", or npm takes them for its own. Write: ${command}\n`);
  });

  test("is none if npm has others, or started another program, which started this one", () => {
    expect(read({ npm_config_yes: "", npm_config_serve: "true", npm_config_json: "", npm_config_cache: "/" })).toEqual(
      {},
    );
    expect(read({ npm_config_json: "true", npm_lifecycle_script: "node another.mjs" })).toEqual({});
    expect(read({ npm_config_json: "true", npm_lifecycle_script: undefined })).toEqual({});
  });
});

describe("a smaller program of the bench", () => {
  const page = readFileSync("tests/bench/README.md", "utf8");
  const programs = [...new Set([...page.matchAll(/`node (tests\/bench\/\S+\.mjs)/g)].map(([, file]) => file))];
  const run = (...words) => spawnSync(process.execPath, words, { encoding: "utf8" });

  test.each(programs)("%s has --help, and refuses an option that it does not have", (file) => {
    expect(run(file, "--help")).toMatchObject({
      status: 0,
      stderr: "",
      stdout: expect.stringContaining(`node ${file} [`),
    });
    const { status, stdout, stderr } = run(file, "--nonsense");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^there is no option --nonsense; did you mean --[\w-]+\?\n--help lists the options\.\n$/);
  });

  test.each([
    ["llama.mjs", "--weights=7", "--weights must be one of 30, 120, got"],
    ["models.mjs", "--rounds=none", "--rounds must be a whole number"],
    ["kernels.mjs", "--node=3", "--node must be one of"],
    ["lab/firstPicture.mjs", "5", '"5" stands alone; write node tests/bench/lab/firstPicture.mjs --rounds "5"'],
    ["lab/lessonFrames.mjs", "--slowdown=0", "--slowdown must be a number from 1"],
    ["lab/generation.mjs", "--precision=half", "--precision must be one of float32, bfloat16"],
    ["lab/loading.mjs", "--dtype=BF16", "--dtype must be one of F16, F32"],
    ["lab/training.mjs", "--seeds=-1", "--seeds must be a whole number"],
  ])("%s %s says what is wrong, before any work", (file, word, message) => {
    const { status, stdout, stderr } = run(`tests/bench/${file}`, word);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr.startsWith(message)).toBe(true);
  });
});

describe("in a folder whose path the tools for C++ cannot take", () => {
  const PROGRAM = `import { configure } from "./web/build/cmake.mjs";
    const toolchain = process.argv[1] === "wasm" ? { root: "", version: "" } : undefined;
    await configure("none", { toolchain }).catch(({ message }) => console.log(message));`;

  test.each([
    ["wasm", "100 % mine", "%"],
    ["native", "C#", "#"],
    ["wasm", "a;b", ";"],
    ["native", 'the "copy"', '"'],
  ])("the build of %s in %j says what to do", (purpose, name, character) => {
    const folder = path.join(mkdtempSync(path.join(tmpdir(), "headwise-")), name);
    for (const part of ["web/build", "cpp/toolchain"]) cpSync(part, path.join(folder, part), { recursive: true });
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", PROGRAM, purpose], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(stdout).toBe(`C++ cannot be built in ${folder}: the path has ${character}. Move the repository.\n`);
    rmSync(path.dirname(folder), { recursive: true });
  });
});

describe("in a bare clone", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  const commands = Object.entries(scripts).filter(([, script]) => /^node \S+$/.test(script));
  const clone = mkdtempSync(path.join(tmpdir(), "headwise clone-"));
  for (const name of ["cpp", "tests", "web", "package.json"])
    cpSync(name, path.join(clone, name), { recursive: true, filter: (file) => path.basename(file) !== "node_modules" });
  afterAll(() => rmSync(clone, { recursive: true }));

  const run = (script, ...args) =>
    spawnSync(process.execPath, [script.replace("node ", ""), ...args], { cwd: clone, encoding: "utf8" });

  test.each(commands)("%s has --help", (_, script) => {
    expect(run(script, "--help")).toMatchObject({ status: 0, stderr: "", stdout: expect.stringContaining("--help") });
  });

  test.each([
    [["test", "--fresh"], "npm test -- --fresh"],
    [["start", "--json", "--no-serve"], "npm start -- --no-serve --json"],
    [["run", "train:demo", "--steps=5"], "npm run train:demo -- --steps=5"],
  ])("npm %j runs nothing without its option", (args, command) => {
    const { status, stderr } = spawnSync("npm", args, { cwd: clone, encoding: "utf8" });
    expect(status).not.toBe(0);
    expect(stderr).toContain(`Write: ${command}\n`);
    expect(existsSync(path.join(clone, "build"))).toBe(false);
  });

  test.each(commands)("%s refuses an option that it does not have, before any work", (_, script) => {
    const { status, stderr } = run(script, "--nonsense");
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/^there is no option --nonsense; did you mean --[\w-]+\?\n--help lists the options\.\n$/);
    expect(existsSync(path.join(clone, "node_modules"))).toBe(false);
    expect(existsSync(path.join(clone, "build"))).toBe(false);
  });
});
