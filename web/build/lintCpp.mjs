// Checks that all C++ is formatted and that all includes go downwards. A run of everything also runs clang-tidy on the core,
// compiles it file by file, and compares what the files define. Other versions of clang's two tools report other things. So
// only the versions of Debian 12 are used. Without them those checks are skipped.

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";

import { setUp } from "../../cpp/toolchain/setup.mjs";
import { configure } from "./cmake.mjs";
import { add, nothing, oneFailed } from "./counts.mjs";
import { root } from "./paths.mjs";
import { faultsOfRooms } from "./rooms.mjs";
import { ended, say, start } from "./run.mjs";

const VERSION = 14;
const FOLDERS = ["cpp", "tests/cpp", "tests/bench", "tests/package/consumers"];
/** clang-tidy uses the compile commands of this preset. */
const PRESET = "release";

const onePassed = { ...nothing, passed: 1 };

/** Every file is a test. @returns the counts of counts.mjs */
export async function lintCpp(isAll) {
  await setUp(["lint"]).catch((error) => say(`lint: ${error.message}`));
  const counts = [await format(), rooms()];
  if (isAll) counts.push(await tidy(), await files());
  return counts.reduce(add);
}

/** Two tests: each file of the core includes what it uses, and no two files define a class of one name in two ways. */
async function files() {
  const { folder, build } = await configure("files");
  try {
    await build("headwise");
  } catch (error) {
    say(`lint: ${error.message}`);
    return oneFailed;
  }
  return add(onePassed, await definitions(folder));
}

/** GCC compares definitions when it joins objects that keep them (`-flto`, of the preset). Other compilers do not. */
async function definitions(folder) {
  const [, compiler] = /^CMAKE_CXX_COMPILER:\w+=(.*)$/m.exec(readFileSync(path.join(folder, "CMakeCache.txt"), "utf8"));
  if (!execFileSync(compiler, ["--version"], { encoding: "utf8" }).includes("Free Software Foundation")) {
    say("lint: the compiler is not GCC: definitions of classes are not compared");
    return { ...nothing, skipped: 1 };
  }
  // The folder may also hold objects of sources that are gone.
  const commands = JSON.parse(readFileSync(path.join(folder, "compile_commands.json"), "utf8"));
  const objects = commands.map(({ command }) => / -o (\S+)/.exec(command)[1]);
  const files = objects.filter((file) => file.includes("/headwise.dir/"));
  const options = ["-O0", "-flto", "-Wodr", "-Werror=odr", "-r", "-o", path.join(folder, "joined.o")];
  const isOne = await isFine(compiler, [...options, ...files.map((file) => path.join(folder, file))]);
  return isOne ? onePassed : oneFailed;
}

/** One test. */
function rooms() {
  const faults = faultsOfRooms();
  for (const fault of faults) say(`lint: ${fault}`);
  return faults.length > 0 ? oneFailed : onePassed;
}

async function format() {
  const files = FOLDERS.flatMap(sourcesIn);
  const program = programOf("clang-format");
  return program
    ? judge(files, (file) => isFine(program, ["--dry-run", "-Werror", file]))
    : skip("clang-format", files);
}

/** Looks at the files of a folder together, as the compiler does: most of its time goes into headers. */
async function tidy() {
  const { folder } = await configure(PRESET);
  const targets = ["cpp/src/kernel/", path.join(path.relative(root, folder), "cpp/CMakeFiles/headwise.dir/")];
  const files = JSON.parse(readFileSync(path.join(folder, "compile_commands.json"), "utf8"))
    .map(({ file }) => file)
    .filter((file) => targets.some((target) => path.relative(root, file).startsWith(target)));
  const program = programOf("clang-tidy");
  // Clang does not know some of GCC's warnings.
  const options = ["-p", folder, "--quiet", "--warnings-as-errors=*"];
  const tolerant = "--extra-arg=-Wno-unknown-warning-option";
  return program ? judge(files, (file) => isFine(program, [...options, tolerant, file])) : skip("clang-tidy", files);
}

function sourcesIn(folder) {
  return readdirSync(path.join(root, folder), { recursive: true })
    .filter((file) => /\.(cpp|h)$/.test(file) && !file.includes("node_modules"))
    .map((file) => path.join(root, folder, file))
    .sort();
}

/** The tool in the right version, under one of its two names. */
function programOf(tool) {
  return [`${tool}-${VERSION}`, tool].find((name) => {
    try {
      return execFileSync(name, ["--version"], { encoding: "utf8" }).includes(` version ${VERSION}.`);
    } catch {
      return false; // there is no program of that name
    }
  });
}

function skip(tool, files) {
  say(`lint: ${tool} ${VERSION} is not here: ${files.length} files are not checked`);
  return { ...nothing, skipped: files.length };
}

/** Checks all files, with one process for each core. */
async function judge(files, check) {
  const waiting = [...files];
  let counts = nothing;
  const work = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      const verdict = (await check(file)) ? "passed" : "failed";
      counts = add(counts, { ...nothing, [verdict]: 1 });
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return counts;
}

/** Runs a tool on one file. Shows its output if it fails. */
async function isFine(program, args) {
  const child = start(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
  const status = await ended(child);
  if (status !== 0) process.stderr.write(Buffer.concat(output));
  return status === 0;
}
