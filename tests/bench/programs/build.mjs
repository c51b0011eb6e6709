// The bench's own WebAssembly programs: the roofline probes with and without relaxed SIMD, and the textbook attention.

import { mkdirSync } from "node:fs";
import path from "node:path";

import { setUp } from "../../../cpp/toolchain/setup.mjs";
import { build, root } from "../../../web/build/paths.mjs";
import { run } from "../../../web/build/run.mjs";
import { whenStale } from "../../../web/build/stale.mjs";

const POOL = ["cpp/src/base/thread_pool.cpp", "cpp/include/headwise/thread_pool.h"];

const PROGRAMS = [
  { name: "roofline.simd", source: "roofline.cpp", flags: ["-msimd128"] },
  { name: "roofline.relaxed", source: "roofline.cpp", flags: ["-msimd128", "-mrelaxed-simd"] },
  // Scalar code: without -msimd128 the compiler does not vectorise it.
  { name: "naive", source: "naive.cpp", flags: [] },
];

const EXPORTS = {
  "roofline.cpp": ["start", "compute_forms", "read_forms", "compute_rate", "read_rate"],
  "naive.cpp": ["start", "allocate", "release", "attend"],
};

/** Emscripten's loader for Node imports what a browser does not have, so each has its own loader. */
const ENGINES = ["node", "worker"];

/** Builds what is stale in build/bench-programs/. */
export async function buildPrograms() {
  const { emcc, env } = await setUp(["wasm"]);
  for (const engine of ENGINES) {
    mkdirSync(path.join(build, "bench-programs", engine), { recursive: true });
    for (const program of PROGRAMS) {
      const output = `build/bench-programs/${engine}/${program.name}.js`;
      const source = `tests/bench/programs/${program.source}`;
      const inputs = [source, "tests/bench/programs/build.mjs", ...POOL];
      await whenStale(`bench-${engine}-${program.name}`, { inputs, outputs: [output] }, () =>
        run(emcc.replace(/emcc$/, "em++"), [...flagsOf(program, engine), source, "-o", output], { env }),
      );
    }
  }
}

function flagsOf({ source, flags }, engine) {
  const exported = EXPORTS[source].map((symbol) => `_${symbol}`).join(",");
  return [
    ...["-std=c++20", "-O3", "-pthread", "-fno-exceptions", ...flags, `-I${path.join(root, "cpp/include")}`],
    ...[
      "cpp/src/base/thread_pool.cpp",
      "--no-entry",
      "-sSTRICT",
      "-sMODULARIZE",
      "-sEXPORT_ES6",
      `-sENVIRONMENT=${engine}`,
    ],
    ...["-sALLOW_MEMORY_GROWTH", "-sMAXIMUM_MEMORY=1GB", "-sINITIAL_MEMORY=16MB", "-Wno-pthreads-mem-growth"],
    ...["-sPTHREAD_POOL_SIZE=(Module.numThreads||1)-1", "-sPTHREAD_POOL_SIZE_STRICT=2", "-sFILESYSTEM=0"],
    ...["-sINCOMING_MODULE_JS_API=wasmMemory", `-sEXPORTED_FUNCTIONS=${exported}`],
    "-sEXPORTED_RUNTIME_METHODS=PThread,wasmMemory",
  ];
}
