// Where the C++ toolchain for WebAssembly is: an `emcc` the machine already has, or the private
// prefix that `npm run setup` fills. Nothing here installs anything; setup.mjs does.

import { execFileSync, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

import { readNote } from "../../web/build/note.mjs";

/** Older ones lack the final relaxed-SIMD opcodes, or write ES modules with threads that Node cannot load. */
export const MINIMUM_VERSION = "3.1.69";

/** Raised when the recipe in debian.mjs changes, so that an older prefix is not taken for a new one. */
const RECIPE = 1;

/** The archive suite that is unpacked when the machine has no good `emcc`. */
export function suite() {
  return process.env.HEADWISE_TOOLCHAIN_SUITE ?? defaultSuite();
}

function defaultSuite() {
  // Debian's suite is frozen: it has the same bytes next year. Ubuntu's mirrors carry no Debian suites.
  return osRelease().ID === "ubuntu" ? "resolute" : "trixie";
}

/** The private prefix. It is in the user's cache folder, so that a second clone finds it filled. */
export function prefixFor(contents) {
  const cache = process.env.XDG_CACHE_HOME || path.join(homedir(), ".cache");
  const root = process.env.HEADWISE_TOOLCHAIN_DIR ?? path.join(cache, "headwise");
  return path.join(root, `${contents}-${suite()}-${RECIPE}`);
}

/** The machine's own `emcc` when it is new enough: from PATH, or from where EMSDK points. */
export function installedEmscripten() {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  if (process.env.EMSDK) folders.push(path.join(process.env.EMSDK, "upstream", "emscripten"));
  for (const folder of folders.filter(Boolean)) {
    const emcc = path.join(folder, "emcc");
    const version = isExecutable(emcc) ? versionOf(emcc, process.env) : undefined;
    if (isGoodEnough(version)) return { emcc, version };
  }
  return undefined;
}

/**
 * The toolchain that is ready to use, or undefined when setup has still to run.
 * @returns {{ emcc: string, version: string, env: Record<string, string>, root: string, headers: string } | undefined}
 *   `root` is Emscripten's folder (its CMake toolchain file lies in `cmake/Modules/Platform`), `env` is to be added to
 *   the environment of every call, `headers` is the prefix of xsimd and Eigen for CMAKE_PREFIX_PATH.
 */
export function findToolchain() {
  const installed = installedEmscripten();
  if (installed) {
    const headers = headersPrefix();
    return headers && { ...installed, env: {}, root: emscriptenRoot(installed.emcc), headers };
  }
  const prefix = prefixFor("toolchain");
  const stamp = readStamp(prefix);
  if (!stamp) return undefined;
  const root = path.join(prefix, "usr/share/emscripten");
  return {
    emcc: path.join(root, "emcc"),
    version: stamp.version,
    env: { EM_CONFIG: configPath(prefix) },
    root,
    headers: path.join(prefix, "usr"),
  };
}

/**
 * The environment for compiling with a toolchain. Emscripten's programs are started some twenty times, by the first
 * `python3` on PATH. Where that is only a launcher (pyenv), each start takes 0.3 s longer; so the interpreter itself is named.
 */
export function compilerEnv({ env }) {
  if (process.env.EMSDK_PYTHON) return env;
  const options = { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
  const { stdout, status } = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], options);
  return status === 0 ? { ...env, EMSDK_PYTHON: stdout.trim() } : env;
}

/** Where xsimd and Eigen are for a machine that has its own Emscripten. */
function headersPrefix() {
  const prefix = prefixFor("headers");
  return process.env.HEADWISE_HEADERS ?? (readStamp(prefix) && path.join(prefix, "usr"));
}

/** Emscripten reads this file by itself, so a plain call of its programs works too. */
export const configPath = (prefix) => path.join(prefix, "usr/share/emscripten/.emscripten");

/** Written last. A prefix without it is not finished. */
export const stampPath = (prefix) => path.join(prefix, "stamp.json");

export const readStamp = (prefix) => readNote(stampPath(prefix), JSON.parse);

export function versionOf(emcc, env) {
  try {
    const text = execFileSync(emcc, ["--version"], { env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return /\b(\d+\.\d+\.\d+)\b/.exec(text)?.[1];
  } catch {
    return undefined; // an emcc that cannot say its version cannot compile either
  }
}

/** @returns {Record<string, string>} the fields of /etc/os-release; empty where there is none */
export function osRelease() {
  if (!existsSync("/etc/os-release")) return {};
  const lines = readFileSync("/etc/os-release", "utf8").split("\n");
  const fields = lines.map((line) => /^(\w+)="?([^"]*)"?$/.exec(line)).filter(Boolean);
  return Object.fromEntries(fields.map(([, name, value]) => [name, value]));
}

function emscriptenRoot(emcc) {
  // Packaged launchers are in another folder than the tree that they start, so emcc is asked for the tree.
  const env = { ...process.env };
  const where = execFileSync(path.join(path.dirname(emcc), "em-config"), ["EMSCRIPTEN_ROOT"], {
    env,
    encoding: "utf8",
  });
  return where.trim();
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param {string | undefined} version - undefined when the program did not say one */
export function isGoodEnough(version) {
  if (!version) return false;
  const [have, want] = [version, MINIMUM_VERSION].map((text) => text.split(".").map(Number));
  const differing = have.findIndex((part, index) => part !== want[index]);
  return differing < 0 || have[differing] > want[differing];
}
