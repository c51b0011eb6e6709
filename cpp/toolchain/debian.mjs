// Emscripten, xsimd and Eigen from the Debian (or Ubuntu) archive into a private prefix: no root, no change to the
// system. apt fetches and checks signatures against the keyring the machine already trusts; dpkg-deb only unpacks.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";

import { writeNote } from "../../web/build/note.mjs";
import { configPath, isGoodEnough, MINIMUM_VERSION, osRelease, stampPath, suite, versionOf } from "./emscripten.mjs";

const HEADERS = ["libxsimd-dev", "libeigen3-dev"];

/** Emscripten's own packages and every shared library its programs load. `NN` is the LLVM it was packaged for. */
const TOOLCHAIN = [
  "emscripten",
  "binaryen",
  "clang-NN",
  "lld-NN",
  "llvm-NN",
  "libllvmNN",
  "libclang-cppNN",
  "libclang-common-NN-dev",
  "libc6",
  "libstdc++6",
  "libgcc-s1",
  "libedit2",
  "libffi8",
  "zlib1g",
  "libzstd1",
  "libtinfo6",
  "libbsd0",
  "libmd0",
  "libz3-4",
  "liblzma5",
  "patchelf",
];

/** Packages whose name differs between suites. The first name that the suite has is used. */
const EITHER = [["libxml2-16", "libxml2"]];

/** The programs of LLVM that Emscripten starts. Other names of the same programs are links to them. */
const LLVM_PROGRAMS = ["clang", "lld", "llvm-ar", "llvm-nm", "llvm-objcopy", "llvm-dwarfdump", "opt", "llc"];

/** Prebuilt system libraries that are not linked here. They are four fifths of the package. */
const UNUSED = ["lto", "lto-pic", "pic"].map((kind) => `*/wasm32-emscripten/${kind}/*`);

/** Names the missing programs. Undefined if this machine can be provisioned. */
export function obstacle() {
  if (process.platform !== "linux") return `there is no package archive to take it from on ${process.platform}`;
  const missing = ["apt-get", "apt-cache", "dpkg-deb"].filter((program) => !onPath(program));
  if (missing.length > 0) return `this is not Debian or Ubuntu (no ${missing.join(", ")})`;
  return undefined;
}

/**
 * Fills `prefix`. Safe to run again after an interruption: what was downloaded and unpacked is kept.
 * @param {string} prefix
 * @param {'toolchain' | 'headers'} contents
 * @param {(line: string) => void} say
 */
export async function provision(prefix, contents, say) {
  mkdirSync(prefix, { recursive: true });
  const apt = await openArchive(path.join(prefix, "apt"), say);
  const names = contents === "headers" ? HEADERS : [...HEADERS, ...toolchainPackages(apt)];
  const packages = await fetchAndUnpack(apt, names, prefix, say);
  let version;
  if (contents === "toolchain") {
    bindToOwnLibraries(prefix, say);
    linkNodeModules(prefix);
    writeConfig(prefix);
    version = check(prefix);
  }
  const stamp = { version, suite: suite(), packages: packages.map(({ file }) => path.basename(file)) };
  writeNote(stampPath(prefix), `${JSON.stringify(stamp, null, 2)}\n`);
  for (const leftover of ["downloads", "apt", "unpacked"]) rmSync(path.join(prefix, leftover), { recursive: true });
}

// --- the archive ---------------------------------------------------------------------------------------------------

/** Points apt at private folders and at one suite, on a mirror that the machine's own configuration names. */
async function openArchive(folder, say) {
  for (const part of ["lists/partial", "cache/archives/partial"])
    mkdirSync(path.join(folder, part), { recursive: true });
  writeFileSync(path.join(folder, "status"), "");
  const failures = [];
  for (const mirror of mirrors()) {
    const list = path.join(folder, "sources.list");
    writeFileSync(list, `deb [signed-by=${keyring()}] ${mirror} ${suite()} ${components()}\n`);
    const options = aptOptions(folder, list);
    say(`reading the package list of ${suite()} (about 10 MB)`);
    try {
      await follow("apt-get", [...options, "-qq", "update"], {});
      return options;
    } catch (error) {
      failures.push(String(error.message));
    }
  }
  throw new Error(`no configured package mirror has a readable "${suite()}"\n${failures.join("\n")}`);
}

function aptOptions(folder, list) {
  const settings = {
    "Dir::State": folder,
    "Dir::State::lists": path.join(folder, "lists"),
    "Dir::State::status": path.join(folder, "status"),
    "Dir::Cache": path.join(folder, "cache"),
    "Dir::Etc::sourcelist": list,
    "Dir::Etc::sourceparts": "-",
    "Dir::Etc::preferences": "/dev/null",
    "Dir::Etc::preferencesparts": "/dev/null",
    "APT::Default-Release": "",
    "Acquire::Languages": "none",
    "Acquire::Retries": "3",
    "Acquire::http::Timeout": "30",
    // As root, apt would download as the user _apt, who cannot read a private folder. Signatures are checked anyway.
    "APT::Sandbox::User": "root",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}

/** Archive addresses in apt's configuration, those of the distribution itself first. */
function mirrors() {
  const text = execFileSync("apt-get", ["indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Identifier: Packages"], {
    encoding: "utf8",
  });
  const own = [osRelease().VERSION_CODENAME, "stable", "oldstable", "testing", "unstable", "sid"];
  const targets = text
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(" "));
  const found = new Set(targets.filter(([release]) => own.includes(release)).map(([, uri]) => uri));
  if (found.size === 0) throw new Error("apt knows no package mirror: its list of sources is empty");
  return found;
}

function keyring() {
  const name = osRelease().ID === "ubuntu" ? "ubuntu" : "debian";
  const file = `/usr/share/keyrings/${name}-archive-keyring.gpg`;
  if (!existsSync(file)) throw new Error(`the archive's keys are missing: install ${name}-archive-keyring`);
  return file;
}

const components = () => (osRelease().ID === "ubuntu" ? "main universe" : "main");

function toolchainPackages(apt) {
  const records = recordsOf(apt, ["emscripten", ...EITHER.flat()]);
  const depends = /^Depends: (.*)$/m.exec(records.emscripten ?? "")?.[1] ?? "";
  const llvm = /\bclang-(\d+)\b/.exec(depends)?.[1];
  if (!llvm) throw new Error(`${suite()} has no emscripten package`);
  const either = EITHER.map((names) => names.find((name) => records[name]));
  const nodeModules = depends.match(/\bnode-[a-z-]+/g) ?? [];
  return [...TOOLCHAIN.map((name) => name.replace("NN", llvm)), ...either, ...nodeModules];
}

/** What the suite says about packages. It says nothing about those that it does not have. */
function recordsOf(apt, names) {
  const options = { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 26 };
  const { stdout } = spawnSync("apt-cache", [...apt, "--no-all-versions", "show", ...names], options);
  const records = stdout.split("\n\n").filter((record) => record.startsWith("Package: "));
  return Object.fromEntries(records.map((record) => [/^Package: (.*)$/m.exec(record)[1], record]));
}

// --- download ------------------------------------------------------------------------------------------------------

/** Packages are unpacked in halves: while the second half is downloaded, the first is unpacked. */
async function fetchAndUnpack(apt, names, prefix, say) {
  const folder = path.join(prefix, "downloads");
  mkdirSync(folder, { recursive: true });
  // Started in another folder: apt skips packages that are complete in the folder it is started in.
  const options = { cwd: path.dirname(folder), encoding: "utf8" };
  const plan = execFileSync("apt-get", [...apt, "download", "--print-uris", ...names], options);
  const packages = plan
    .trim()
    .split("\n")
    .map((line) => {
      const [, name, size] = line.split(" ");
      return { name: name.split("_")[0], file: path.join(folder, name), size: Number(size) };
    })
    .sort((a, b) => b.size - a.size);
  const total = packages.reduce((sum, { size }) => sum + size, 0);
  say(`downloading and unpacking ${packages.length} packages of ${suite()}, ${megabytes(total)} MB`);
  const progress = () => {
    const have = packages.reduce((sum, { file }) => sum + (existsSync(file) ? statSync(file).size : 0), 0);
    return `downloaded ${megabytes(have)} of ${megabytes(total)} MB`;
  };
  let unpacked = Promise.resolve();
  for (const half of halves(packages, total)) {
    // apt keeps what is complete, resumes what is not, and refuses what does not match the signed list.
    const wanted = half.map(({ name }) => name);
    await follow("apt-get", [...apt, "-qq", "download", ...wanted], { cwd: folder, progress, say });
    const before = unpacked;
    unpacked = Promise.all([before, unpackAll(half, prefix)]);
    unpacked.catch(() => {}); // told below
  }
  await unpacked;
  return packages;
}

/** The largest packages up to half of all bytes, and the others. */
function halves(packages, total) {
  let bytes = 0;
  const first = packages.filter(({ size }) => (bytes += size) <= total / 2);
  return [first, packages.slice(first.length)].filter((half) => half.length > 0);
}

const megabytes = (bytes) => Math.round(bytes / 1e6);

/** Runs a program; while it runs, `progress()` is said every few seconds. */
function follow(program, args, { cwd, progress, say }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
    const timer = progress && setInterval(() => say(progress()), 3000);
    child.on("error", reject);
    child.on("close", (code) => {
      clearInterval(timer);
      if (code === 0) resolve();
      else reject(new Error(`${program} failed:\n${Buffer.concat(output)}`));
    });
  });
}

// --- unpacking -----------------------------------------------------------------------------------------------------

/** Two at a time: they are decompressed by one thread each. */
async function unpackAll(packages, prefix) {
  const waiting = [...packages];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await unpack(next.file, prefix);
  };
  await Promise.all([work(), work()]);
}

async function unpack(file, prefix) {
  const done = path.join(prefix, "unpacked", path.basename(file));
  if (existsSync(done)) return;
  const exclude = UNUSED.map((pattern) => `--exclude=${pattern}`);
  const command = 'dpkg-deb --fsys-tarfile "$1" | tar --extract --directory "$2" --no-same-owner "${@:3}"';
  await follow("bash", ["-o", "pipefail", "-c", command, "unpack", file, prefix, ...exclude], {});
  mkdirSync(path.dirname(done), { recursive: true });
  writeFileSync(done, "");
}

/**
 * The programs want a newer C library than the host may have, so each is tied to the loader and the libraries in the
 * prefix. The libraries need it too: their own RUNPATH would win otherwise.
 */
function bindToOwnLibraries(prefix, say) {
  say("tying the programs to their own libraries");
  const lib = path.join(prefix, "usr/lib");
  const triplet = readdirSync(lib).find((name) => existsSync(path.join(lib, name, "libc.so.6")));
  const system = path.join(lib, triplet);
  const llvm = path.join(
    lib,
    readdirSync(lib).find((name) => /^llvm-\d+$/.test(name)),
  );
  const loader = path.join(
    system,
    readdirSync(system).find((name) => /^ld-linux.*\.so\.\d$/.test(name)),
  );
  const search = [system, path.join(llvm, "lib")].join(":");

  // patchelf needs the newer C library itself, so it is started through the loader of the prefix.
  const patchelf = path.join(prefix, "usr/bin/patchelf");
  const patch = (...args) => execFileSync(loader, ["--library-path", system, patchelf, ...args]);
  for (const program of programsIn(prefix, llvm)) {
    patch("--set-interpreter", loader, "--force-rpath", "--set-rpath", search, program);
  }
  for (const library of [...elfFiles(path.join(llvm, "lib")), ...elfFiles(system)].filter(hasOwnSearchPath)) {
    patch("--force-rpath", "--set-rpath", search, library);
  }
}

/** The programs that Emscripten starts: some of LLVM, and all of Binaryen. */
function programsIn(prefix, llvm) {
  const used = LLVM_PROGRAMS.map((name) => path.join(llvm, "bin", name)).filter((file) => existsSync(file));
  return [...used, ...elfFiles(path.join(prefix, "usr/bin")).filter((file) => /^wasm/.test(path.basename(file)))];
}

const hasOwnSearchPath = (file) => /^lib(LLVM|clang-cpp|binaryen|z3|xml2)/.test(path.basename(file));

function elfFiles(folder) {
  const files = readdirSync(folder).map((name) => path.join(folder, name));
  return files.filter((file) => lstatSync(file).isFile() && isElf(file));
}

function isElf(file) {
  return readFileSync(file).subarray(0, 4).equals(Buffer.from("\x7fELF", "latin1"));
}

/** Emscripten's optimiser imports a few npm packages. Debian ships them in a folder that module imports do not search. */
function linkNodeModules(prefix) {
  const link = path.join(prefix, "usr/share/node_modules"); // seen from Emscripten's folder and from theirs
  rmSync(link, { force: true });
  symlinkSync("nodejs", link);
}

function writeConfig(prefix) {
  const quote = (file) => JSON.stringify(path.join(prefix, file));
  const llvm = readdirSync(path.join(prefix, "usr/lib")).find((name) => /^llvm-\d+$/.test(name));
  const lines = [
    `LLVM_ROOT = ${quote(`usr/lib/${llvm}/bin`)}`,
    `BINARYEN_ROOT = ${quote("usr")}`,
    `NODE_JS = ${JSON.stringify(process.execPath)}`,
    `CACHE = ${quote("usr/share/emscripten/cache")}`,
  ];
  writeFileSync(configPath(prefix), `${lines.join("\n")}\n`);
}

/** Every program says its version, so that a broken prefix is found here and not in the middle of a build. */
function check(prefix) {
  const llvm = path.join(
    prefix,
    "usr/lib",
    readdirSync(path.join(prefix, "usr/lib")).find((name) => /^llvm-\d+$/.test(name)),
  );
  const programs = programsIn(prefix, llvm).filter((file) => path.basename(file) !== "lld"); // it works under other names
  for (const program of [...programs, path.join(llvm, "bin/wasm-ld")]) execFileSync(program, ["--version"]);
  for (const header of ["xsimd/xsimd.hpp", "eigen3/Eigen/Core"])
    if (!existsSync(path.join(prefix, "usr/include", header))) throw new Error(`${suite()} has no ${header}`);
  const env = { ...process.env, EM_CONFIG: configPath(prefix) };
  const version = versionOf(path.join(prefix, "usr/share/emscripten/emcc"), env);
  if (!isGoodEnough(version)) throw new Error(`${suite()} has Emscripten ${version}, ${MINIMUM_VERSION} is needed`);
  return version;
}

function onPath(program) {
  return process.env.PATH.split(path.delimiter).some((folder) => existsSync(path.join(folder, program)));
}
