// For CMake: prints where a part of the toolchain lies. `node where.mjs root` or `node where.mjs headers`.

import { findToolchain } from "./emscripten.mjs";

const toolchain = findToolchain();
if (toolchain) process.stdout.write(toolchain[process.argv[2]]);
else {
  console.error("The toolchain is not set up: run `npm run setup`.");
  process.exitCode = 1;
}
