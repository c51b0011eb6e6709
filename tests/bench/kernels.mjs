// node tests/bench/kernels.mjs: times the core's calls and the functions of the kernel table, without copies, on one
// thread.

import { execFileSync } from "node:child_process";
import path from "node:path";

import { setUp } from "../../cpp/toolchain/setup.mjs";
import { configure } from "../../web/build/cmake.mjs";
import { oneOf, settingsOf } from "../../web/build/usage.mjs";
import { nodeProgram, VERSIONS } from "./engines.mjs";

const USAGE = `node tests/bench/kernels.mjs [options]
  --filter TEXT     only lines whose name contains TEXT: "call", "512 x 64", "softmax"
  --variant NAME    relaxed or simd; default both
  --node MAJOR      20, 22 or 24, default this Node
  --build           no more than to build: do so before a machine is made quiet
  --help            this text`;

const PROGRAMS = ["relaxed", "simd"];

await timeKernels(settingsOf(USAGE, checked, { likely: "filter" }));

function checked(given) {
  if (given.node !== undefined) oneOf("--node", given.node, VERSIONS);
  if (given.variant !== undefined) oneOf("--variant", given.variant, PROGRAMS);
  return given;
}

async function timeKernels({ filter = "", variant, node, build: onlyBuild }) {
  const { folder, build } = await configure("bench-wasm", { toolchain: await setUp(["wasm"]) });
  const programs = (variant ? [variant] : PROGRAMS).map((name) => `kernels.${name}`);
  await build(...programs);
  if (onlyBuild) return;
  const { program, flags } = await nodeProgram(node && Number(node));
  for (const name of programs) {
    const file = path.join(folder, "tests/bench", `${name}.cjs`);
    execFileSync(program, [...flags, file, filter], { stdio: "inherit" });
  }
}
