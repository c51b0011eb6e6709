// Builds the WebAssembly modules: CMake and Ninja build what is stale, then the loaders are adapted and copied to
// dist/wasm.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { build, dist, inlineModule, root } from "./paths.mjs";
import { run, say } from "./run.mjs";

const VARIANTS = ["simd", "relaxed"];

/** The strongest safe options. They also remove Emscripten's own ways of loading, which the functions below cut off. */
const MINIFY = { module: true, ecma: 2022, mangle: true, compress: { ecma: 2022, passes: 3, unused: true } };

/** @param {import('../../cpp/toolchain/emscripten.mjs').Toolchain} toolchain */
export async function buildWasm(toolchain) {
  const folder = path.join(build, "wasm");
  if (configuredFor(folder) !== toolchain.root) {
    say("wasm: configuring");
    const fresh = existsSync(folder) ? ["--fresh"] : [];
    await run("cmake", ["--preset", "wasm", ...fresh], { env: toolchain.env, quiet: true });
    writeFileSync(path.join(folder, "toolchain-root"), toolchain.root);
  }
  await run("cmake", ["--build", folder], { env: toolchain.env });
  await publishAll(folder);
}

/** Adapts the linked files of a folder, and writes them to dist/wasm. */
export async function publishAll(folder) {
  const { minify } = await import("@swc/core"); // an earlier step of the build has installed it
  const small = async (glue) => (await minify(glue, MINIFY)).code;
  for (const variant of VARIANTS) await publish(folder, variant, small);
  await publishInline(folder, small);
}

function configuredFor(folder) {
  const file = path.join(folder, "toolchain-root");
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

async function publish(folder, variant, small) {
  const linked = (engine, ending) => readFileSync(path.join(folder, engine, `headwise.${variant}.${ending}`));
  const wasm = linked("web", "wasm");
  if (!wasm.equals(linked("node", "wasm"))) {
    throw new Error(
      `headwise.${variant}: the links for pages and for Node gave different wasm, so one cannot serve both`,
    );
  }
  const output = path.join(dist, "wasm");
  const publishFile = (ending, content) => writeIfChanged(path.join(output, `headwise.${variant}.${ending}`), content);
  publishFile("wasm", labelled(wasm, { variant, threads: true }));
  const pageGlue = startWorkersFromOwnUrl(adapted(linked("web", "js")), "import.meta.url");
  publishFile("js", Buffer.from(await small(pageGlue)));
  publishFile("node.js", Buffer.from(await small(forNode(linked("node", "js")))));
}

/** Writes a module for Node with checks of memory, which was linked in `folder`, to the folder `output` of a package. */
export function publishChecked(folder, output) {
  const linked = (ending) => readFileSync(path.join(folder, `headwise.simd.${ending}`));
  const wasm = labelled(linked("wasm"), { variant: "simd", threads: true });
  writeIfChanged(path.join(output, "headwise.simd.wasm"), wasm);
  writeIfChanged(path.join(output, "headwise.simd.node.js"), Buffer.from(forNode(linked("js"))));
}

const adapted = (glue) =>
  tellingOfCrashes(withoutBindingsOfThreads(withoutOwnLoading(withoutLastingWait(String(glue)))));

const forNode = (glue) => withoutCommandLineFlags(startWorkersFromOwnUrl(adapted(glue), "new URL(import.meta.url)"));

/**
 * Writes the files that headwise/inline contains: a loader that loads nothing, and the module as text, which every
 * server can send. The module is also written as a file, for engines that compile no bytes (Cloudflare Workers).
 */
async function publishInline(folder, small) {
  const linked = (ending) => readFileSync(path.join(folder, "inline", `headwise.inline.${ending}`));
  const glue = await small(withoutOwnUrl(withoutOwnLoading(String(linked("js")))));
  for (const forbidden of ["fetch", "import(", "import.meta", "Worker(", "XMLHttpRequest"]) {
    if (glue.includes(forbidden)) throw new Error(`headwise.inline: its loader still has ${forbidden}`);
  }
  writeIfChanged(inlineModule.glue, Buffer.from(glue));
  const wasm = labelled(linked("wasm"), { variant: "simd", threads: false });
  writeIfChanged(path.join(dist, "wasm", "headwise.inline.wasm"), wasm);
  writeIfChanged(inlineModule.wasm, Buffer.from(`export default ${JSON.stringify(wasm.toString("base64"))};\n`));
}

/** Adds the label to a module, as a custom section; see web/src/wasm/moduleLabel.ts. */
function labelled(wasm, kind) {
  const label = Buffer.from(JSON.stringify({ version: packageVersion(), ...kind }));
  const name = Buffer.from("headwise");
  const section = Buffer.concat([Buffer.from([name.length]), name, label]);
  if (section.length > 127) throw new Error("the label is longer than its length in one byte says");
  return Buffer.concat([wasm, Buffer.from([0, section.length]), section]);
}

const packageVersion = () => JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).version;

/**
 * The loader starts threads from its own file, by the name that it was linked with. If it is served under another name
 * or as a blob, it must use the URL that it was loaded from. Also, bundlers that see `new Worker(new URL("name", …))`
 * in an asset bundle it again, some of them without end.
 */
function startWorkersFromOwnUrl(glue, ownUrl) {
  const byName = /new Worker\(new URL\("headwise\.\w+\.js",\s*import\.meta\.url\),/g;
  return replaceOne(glue, byName, `new Worker(${ownUrl},`);
}

/**
 * Threads call nothing through Embind. To describe all classes to a thread would take longer than the rest of its
 * start.
 */
function withoutBindingsOfThreads(glue) {
  return replaceOne(glue, /if\s*\(!initializedJS\)\s*\{\s*__embind_initialize_bindings\(\);/g, "if(!initializedJS){");
}

/**
 * If a worker cannot start, createAttention must fail, and if a thread traps, the call that it works for. The loader
 * throws in an event handler, which would end the process, and sets it only when the module is there. So each worker
 * gets a listener when it is made.
 */
function tellingOfCrashes(glue) {
  const handler = /worker\.onerror\s*=\s*e\s*=>\s*\{[^{}]*(?:\$\{[^{}]*\}[^{}]*)*throw e;?\s*\}/g;
  const made = /PThread\.unusedWorkers\.push\(worker\)(?=;?\s*\},\s*getNewWorker)/g;
  const tell =
    'var tell=e=>{e.preventDefault?.();Module["onAbort"]?.(e.message)};' +
    'worker.on?worker.on("error",tell):worker.addEventListener("error",tell);';
  return replaceOne(replaceOne(glue, handler, "worker.onerror=()=>{}"), made, (push) => tell + push);
}

/**
 * The module always comes compiled from JavaScript. The loader's own ways to fetch it are removed, so that the minifier
 * can remove what they use.
 */
function withoutOwnLoading(glue) {
  const own = /wasmBinaryFile\s*\?\?=\s*findWasmBinary\(\);\s*instantiateAsync\([^)]*\)\.catch\(readyPromiseReject\);/g;
  return replaceOne(glue, own, "");
}

function withoutOwnUrl(glue) {
  return replaceOne(glue, /var _scriptName\s*=\s*import\.meta\.url/g, 'var _scriptName=""');
}

/** Node gives its flags to workers. With some flags (`--input-type` with `--eval`) no worker starts. */
function withoutCommandLineFlags(glue) {
  return replaceOne(glue, /workerData:\s*"em-pthread"/g, (match) => `${match},execArgv:[]`);
}

/**
 * The loader waits for messages of its threads with Atomics.waitAsync, without end. The waiting promise would keep the
 * whole instance from being collected. Without it, the loader gets messages by postMessage, as in engines without
 * waitAsync.
 */
function withoutLastingWait(glue) {
  return replaceOne(glue, /var wait\s*=\s*Atomics\.waitAsync\(/g, (match) => `return;${match}`);
}

function replaceOne(glue, pattern, replacement) {
  const matches = glue.match(pattern)?.length ?? 0;
  if (matches !== 1) throw new Error(`Emscripten's loader has ${matches} places like ${pattern}, expected 1`);
  return glue.replace(pattern, replacement);
}

function writeIfChanged(file, content) {
  mkdirSync(path.dirname(file), { recursive: true });
  if (!existsSync(file) || !readFileSync(file).equals(content)) writeFileSync(file, content);
}
