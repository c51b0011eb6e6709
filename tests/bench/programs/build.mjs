// The bench's own WebAssembly programs: the roofline probes with and without relaxed SIMD, and the textbook attention.

import { mkdirSync } from "node:fs";
import path from "node:path";

import { setUp } from "../../../cpp/toolchain/setup.mjs";
import { build, root } from "../../../web/build/paths.mjs";
import { run } from "../../../web/build/run.mjs";
import { whenStale } from "../../../web/build/stale.mjs";

const POOL = ["cpp/src/thread_pool.cpp", "cpp/include/headwise/thread_pool.h"];

const PROGRAMS = [
  { name: "roofline.simd", source: "roofline.cpp", flags: ["-msimd128"] },
  { name: "roofline.relaxed", source: "roofline.cpp", flags: ["-msimd128", "-mrelaxed-simd"] },
  // Scalar as it is written: the compiler's own vectors would need -msimd128.
  { name: "naive", source: "naive.cpp", flags: [] },
];

const EXPORTS = {
  "roofline.cpp": ["start", "compute_forms", "read_forms", "compute_rate", "read_rate"],
  "naive.cpp": ["start", "allocate", "release", "attend"],
};

/** Brings build/bench-programs/ up to date. */
export async function buildPrograms() {
  const { emcc, env } = await setUp(["wasm"]);
  mkdirSync(path.join(build, "bench-programs"), { recursive: true });
  for (const program of PROGRAMS) {
    const source = `tests/bench/programs/${program.source}`;
    const inputs = [source, "tests/bench/programs/build.mjs", ...POOL];
    await whenStale(`bench-${program.name}`, { inputs, outputs: [`build/bench-programs/${program.name}.js`] }, () =>
      run(emcc.replace(/emcc$/, "em++"), flagsOf(program, source), { env }),
    );
  }
}

function flagsOf({ name, source: file, flags }, source) {
  const exported = EXPORTS[file].map((symbol) => `_${symbol}`).join(",");
  return [
    ...["-std=c++20", "-O3", "-pthread", "-fno-exceptions", ...flags, `-I${path.join(root, "cpp/include")}`],
    ...[source, "cpp/src/thread_pool.cpp", "-o", `build/bench-programs/${name}.js`],
    ...["--no-entry", "-sSTRICT", "-sMODULARIZE", "-sEXPORT_ES6", "-sENVIRONMENT=node,worker", "-sFILESYSTEM=0"],
    ...["-sALLOW_MEMORY_GROWTH", "-sMAXIMUM_MEMORY=1GB", "-sINITIAL_MEMORY=16MB", "-Wno-pthreads-mem-growth"],
    ...["-sPTHREAD_POOL_SIZE=(Module.numThreads||1)-1", "-sPTHREAD_POOL_SIZE_STRICT=2"],
    ...[
      "-sINCOMING_MODULE_JS_API=wasmMemory",
      `-sEXPORTED_FUNCTIONS=${exported}`,
      "-sEXPORTED_RUNTIME_METHODS=PThread,wasmMemory",
    ],
  ];
}
