// npm run setup: installs what this machine needs to build headwise. Does nothing if all of it is here.

import { pathToFileURL } from "node:url";

import { optionsOf } from "../../web/build/usage.mjs";
import { obstacle, provision } from "./debian.mjs";
import { findToolchain, installedEmscripten, MINIMUM_VERSION, prefixFor, readStamp } from "./emscripten.mjs";
import { withLock } from "./lock.mjs";
import { installSystemPackages } from "./system.mjs";

const USAGE = `npm run setup -- [options]: what this machine needs to build headwise
  --all     also what its tests need
  --help    this text
Emscripten: a good emcc on PATH (or under EMSDK) is used. Otherwise one is unpacked into a private prefix.
System packages (compiler, CMake, …) are installed by apt when run by root. Otherwise they are named.
  HEADWISE_TOOLCHAIN_SUITE   archive suite to take Emscripten from (default: trixie; resolute on Ubuntu)
  HEADWISE_TOOLCHAIN_DIR     where the private prefix goes (default: the user's cache folder)
  HEADWISE_HEADERS           prefix under which xsimd and Eigen are installed, beside an emcc of your own`;

const say = (line) => console.error(`setup: ${line}`);

/** @param {('wasm' | 'native' | 'lint' | 'browser' | 'lavapipe' | 'firefox' | 'webkit')[]} purposes what the caller is going to build or run */
export async function setUp(purposes = ["wasm"]) {
  await installSystemPackages(purposes, say);
  const found = findToolchain();
  if (found) return found;

  const contents = installedEmscripten() ? "headers" : "toolchain";
  const problem = obstacle();
  if (problem) throw new Error(instructions(problem, contents));
  const prefix = prefixFor(contents);
  const waiting = () => say(`another setup is filling ${prefix}: waiting for it`);
  await withLock(`${prefix}.lock`, waiting, async () => {
    if (readStamp(prefix)) return; // another run filled it while this one waited
    say(
      contents === "toolchain"
        ? `no emcc ≥ ${MINIMUM_VERSION} here: unpacking one into ${prefix}`
        : `xsimd and Eigen go into ${prefix}`,
    );
    await provision(prefix, contents, say);
  });
  return findToolchain();
}

function instructions(problem, contents) {
  if (contents === "headers") {
    return [
      `xsimd and Eigen cannot be fetched: ${problem}.`,
      "Install xsimd (13 or newer) and Eigen (3.4 or newer) and set HEADWISE_HEADERS to their prefix: with Homebrew,",
      '`brew install xsimd eigen` and HEADWISE_HEADERS="$(brew --prefix)".',
    ].join("\n");
  }
  return [
    `Emscripten cannot be set up by itself: ${problem}.`,
    `Install emsdk (any version from ${MINIMUM_VERSION} on), put its emcc on PATH or set EMSDK, and run again.`,
  ].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    const toolchain = await setUp(optionsOf(USAGE).all ? ["wasm", "native", "browser"] : ["wasm"]);
    say(`Emscripten ${toolchain.version} at ${toolchain.emcc}`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
