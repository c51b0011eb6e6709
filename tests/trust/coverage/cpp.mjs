// Coverage of cpp/ by the native tests: clang counts, llvm-cov reports.

import { spawnSync } from "node:child_process";
import path from "node:path";

import { configure } from "../../../web/build/cmake.mjs";
import { root } from "../../../web/build/paths.mjs";
import { run } from "../../../web/build/run.mjs";
import { statusOf } from "../programs.mjs";

/** What is counted: the core. The references and the bindings, which are no native code, are not. */
const isCore = (name) => /^cpp\/(src|include)\//.test(name) && !name.startsWith("cpp/src/reference/");

/**
 * @param {string} folder - for the profile
 * @param {string} [filter] - of GoogleTest
 * @returns {Promise<import("./united.mjs").Coverage>}
 */
export async function cppCoverage(folder, filter = "*") {
  const { folder: binary, build } = await configure("coverage");
  await build("headwise_tests");
  const program = path.join(binary, "tests/cpp/headwise_tests");
  const raw = path.join(folder, "cpp.profraw");
  const status = await statusOf(program, [`--gtest_filter=${filter}`, "--gtest_brief=1"], { LLVM_PROFILE_FILE: raw });
  if (status !== 0) throw new Error("coverage: a C++ test failed");
  const profile = path.join(folder, "cpp.profdata");
  await run(llvmTool("llvm-profdata"), ["merge", "-sparse", raw, "-o", profile]);
  return summaryOf(exported(program, profile));
}

/** LLVM's tools come with the version of clang that compiles. */
export function llvmTool(name) {
  const version = /version (\d+)/.exec(spawnSync("clang++", ["--version"], { encoding: "utf8" }).stdout ?? "")?.[1];
  // llvm-profdata knows no --version
  const found = [`${name}-${version}`, name].find((program) => spawnSync(program, ["--help"]).status === 0);
  if (!found) throw new Error(`coverage: ${name} is needed, of the version of clang (${version})`);
  return found;
}

function exported(program, profile) {
  const args = ["export", "-summary-only", `-instr-profile=${profile}`, program];
  const { status, stdout, stderr } = spawnSync(llvmTool("llvm-cov"), args, { encoding: "utf8", maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`coverage: llvm-cov: ${stderr}`);
  return JSON.parse(stdout);
}

function summaryOf({ data: [{ files }] }) {
  const part = ({ covered, count }) => ({ covered, total: count });
  const own = files
    .map(({ filename, summary }) => ({
      name: path.relative(root, filename),
      lines: part(summary.lines),
      branches: part(summary.branches),
    }))
    .filter(({ name }) => isCore(name));
  const sum = (of) => own.reduce((all, file) => add(all, file[of]), { covered: 0, total: 0 });
  return { lines: sum("lines"), branches: sum("branches"), files: own };
}

const add = (a, b) => ({ covered: a.covered + b.covered, total: a.total + b.total });
