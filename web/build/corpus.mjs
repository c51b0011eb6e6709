// The inputs from which the fuzzers begin: one archive a target in tests/cpp/corpus/.
//
//   node web/build/corpus.mjs         adds what the last hunt found, and keeps of all inputs as few as reach the same code

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

import { configure } from "./cmake.mjs";
import { build, root } from "./paths.mjs";
import { run, say } from "./run.mjs";

/** The targets of tests/cpp/CMakeLists.txt. */
export const FUZZERS = [
  "fuzz_attention",
  "fuzz_backward",
  "fuzz_cache_operations",
  "fuzz_formula",
  "fuzz_kv_cache",
  "fuzz_layer",
  "fuzz_rotary",
];

/** The longest input, in bytes. */
export const LONGEST_INPUT = 600;

const archives = path.join(root, "tests/cpp/corpus");
const archiveOf = (name) => path.join(archives, `${name}.tar.gz`);

/** Unpacks the inputs of a target, and returns their folder. */
export function unpackedCorpus(name) {
  const folder = path.join(build, "corpus", name);
  const archive = archiveOf(name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  if (existsSync(archive)) execFileSync("tar", ["-xzf", archive, "-C", folder]);
  return folder;
}

/** Of the inputs of folders, libFuzzer keeps as few as reach the same code. */
async function merge(name, folders) {
  const kept = path.join(build, "corpus", `${name}.kept`);
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(kept, { recursive: true });
  const program = path.join(build, "fuzz/tests/cpp", name);
  await run(program, ["-merge=1", `-max_len=${LONGEST_INPUT}`, kept, ...folders], { quiet: true });
  return kept;
}

/** Writes an archive whose bytes depend on the inputs only. */
function pack(name, folder) {
  const options = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=644"];
  const files = readdirSync(folder).sort();
  const tar = execFileSync("tar", [...options, "-cf", "-", "-C", folder, ...files], { maxBuffer: 1 << 30 });
  writeFileSync(archiveOf(name), gzipSync(tar, { level: 9 }));
}

async function renew() {
  const program = await configure("fuzz");
  await program.build("fuzz_targets");
  for (const name of FUZZERS) {
    const before = unpackedCorpus(name);
    const found = path.join(build, "test-results", name);
    const kept = await merge(
      name,
      [before, found].filter((folder) => existsSync(folder) && statSync(folder).isDirectory()),
    );
    pack(name, kept);
    const [was, is] = [before, kept].map((folder) => readdirSync(folder).length);
    say(`${name}: ${was} inputs before, ${is} now, ${readFileSync(archiveOf(name)).length} bytes`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await renew();
