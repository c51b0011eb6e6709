// node tests/bench/kernels.mjs: times the core's calls and the functions of the kernel table, without copies, on one
// thread.

import { execFileSync } from "node:child_process";
import path from "node:path";
import { parseArgs } from "node:util";

import { setUp } from "../../cpp/toolchain/setup.mjs";
import { configure } from "../../web/build/cmake.mjs";
import { nodeProgram } from "./engines.mjs";

const USAGE = `node tests/bench/kernels.mjs [options]
  --filter TEXT     only lines whose name contains TEXT: "call", "512 x 64", "softmax"
  --variant NAME    relaxed or simd; default both
  --node MAJOR      20, 22 or 24, default this Node
  --build           no more than to build: do so before a machine is made quiet`;

const text = { type: "string" };
const flag = { type: "boolean" };
const { values } = parseArgs({ options: { filter: text, variant: text, node: text, build: flag, help: flag } });

if (values.help) console.log(USAGE);
else await timeKernels(values);

async function timeKernels({ filter = "", variant, node, build: onlyBuild }) {
  const { folder, build } = await configure("bench-wasm", { toolchain: await setUp(["wasm"]) });
  const programs = (variant ? [variant] : ["relaxed", "simd"]).map((name) => `kernels.${name}`);
  await build(...programs);
  if (onlyBuild) return;
  const { program, flags } = await nodeProgram(node && Number(node));
  for (const name of programs) {
    const file = path.join(folder, "tests/bench", `${name}.cjs`);
    execFileSync(program, [...flags, file, filter], { stdio: "inherit" });
  }
}
