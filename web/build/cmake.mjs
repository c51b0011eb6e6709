// Configures the presets of CMakePresets.json.

import { rmSync } from "node:fs";
import path from "node:path";

import { compilerEnv } from "../../cpp/toolchain/emscripten.mjs";
import { readNote, writeNote } from "./note.mjs";
import { build, root } from "./paths.mjs";
import { run } from "./run.mjs";

/** What a path may not have: CMake and Ninja read it in lists and rules, Emscripten in formats, GoogleTest in comments. */
const UNFIT = { wasm: /[;"\\|%]/, native: /[;"\\|#<]/ };

function refuseUnfitPath(purpose) {
  const [character] = UNFIT[purpose].exec(root) ?? [];
  if (character) throw new Error(`C++ cannot be built in ${root}: the path has ${character}. Move the repository.`);
}

/**
 * Configures a preset in its folder, build/PRESET. A folder that was configured for another checkout (it was copied) or
 * for another toolchain is emptied first: CMake would refuse it.
 *
 * @param {string} preset
 * @param {object} [settings]
 * @param {string[]} [settings.options] - of CMake, as -DNAME=VALUE
 * @param {import("../../cpp/toolchain/emscripten.mjs").Toolchain} [settings.toolchain] - for presets of WebAssembly
 * @returns its folder, and what builds all of it or some targets
 */
export async function configure(preset, { options = [], toolchain } = {}) {
  refuseUnfitPath(toolchain ? "wasm" : "native");
  const folder = path.join(build, preset);
  const stamp = path.join(folder, "configured-for");
  const owner = [root, toolchain?.root, toolchain?.version].join("\n");
  if (readNote(stamp) !== owner) rmSync(folder, { recursive: true, force: true });
  const env = toolchain && compilerEnv(toolchain);
  await run("cmake", ["--preset", preset, ...options], { env, quiet: true });
  writeNote(stamp, owner);
  return {
    folder,
    build: (...targets) =>
      run("cmake", ["--build", folder, ...targets.flatMap((each) => ["--target", each])], { env, quiet: true }),
  };
}
