// Builds the WebAssembly modules: CMake and Ninja compile and link, then the loaders are adapted and copied to dist/wasm.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { configure } from "./cmake.mjs";
import { dist, inlineModule, root } from "./paths.mjs";
import { split } from "./splitModule.mjs";
import { whenStale } from "./stale.mjs";

const SOURCES = ["cpp", "CMakeLists.txt", "CMakePresets.json", "package.json", "package-lock.json"];
const SCRIPTS = ["web/build/wasm.mjs", "web/build/splitModule.mjs", "web/build/cmake.mjs"];

/** The modules, and the files that each becomes. */
const MODULES = {
  simd: filesOf("simd"),
  relaxed: filesOf("relaxed"),
  inline: ["dist/wasm/headwise.inline.wasm", ...Object.values(inlineModule).map((file) => path.relative(root, file))],
};

function filesOf(variant) {
  return ["wasm", "late.wasm", "js", "node.js"].map((ending) => `dist/wasm/headwise.${variant}.${ending}`);
}

/** The strongest safe options. They also remove what the functions below cut off from the rest of the loader. */
const MINIFY = { module: true, ecma: 2022, mangle: true, compress: { ecma: 2022, passes: 3, unused: true } };

/**
 * Builds modules whose sources have changed.
 *
 * @param {import("../../cpp/toolchain/emscripten.mjs").Toolchain} toolchain
 * @param {("simd" | "relaxed" | "inline")[]} names
 * @param {Promise<void>} [packages] - settles when the npm packages are there, which only the last step needs
 */
export async function buildWasm(toolchain, names = Object.keys(MODULES), packages = Promise.resolve()) {
  for (const name of names) {
    const inputs = [...SOURCES, ...SCRIPTS];
    const also = `${toolchain.root} ${toolchain.version}`;
    await whenStale(`wasm-${name}`, { inputs, also, outputs: MODULES[name] }, async () => {
      const { folder, build } = await configure("wasm", { toolchain });
      await build(`headwise.${name}`);
      await packages;
      await publish(toolchain, folder, name);
    });
  }
}

/** Adapts the linked files of a module in a folder of CMake, and writes them to dist/wasm. */
async function publish(toolchain, folder, name) {
  const { minify } = await import("@swc/core");
  const small = async (glue) => (await minify(glue, MINIFY)).code;
  const shipped = path.join(folder, "shipped");
  const linked = (ending) => readFileSync(path.join(shipped, `headwise.${name}.${ending}`));
  if (name === "inline") await publishInline(linked, small);
  else await publishVariant(name, await split(toolchain, shipped, name), linked, small);
}

async function publishVariant(variant, { primary, late }, linked, small) {
  const output = path.join(dist, "wasm");
  const publishFile = (ending, content) => writeIfChanged(path.join(output, `headwise.${variant}.${ending}`), content);
  const label = { variant, threads: true, build: buildOf(primary, late) };
  publishFile("wasm", labelled(primary, label));
  publishFile("late.wasm", labelled(late, { ...label, late: true }));
  const glue = linkingLatePart(adapted(linked("js")));
  const pageGlue = await small(forPages(glue));
  refuse(`headwise.${variant}.js`, pageGlue, ["import(", "require(", "process."]);
  publishFile("js", Buffer.from(pageGlue));
  publishFile("node.js", Buffer.from(await small(forNode(glue))));
}

/**
 * Writes a module for Node with checks of memory, which was linked in `folder`, to the folder `output` of a package. It is
 * whole: its label names no build, so the package loads no late part for it.
 */
export function publishChecked(folder, output) {
  const linked = (ending) => readFileSync(path.join(folder, `headwise.simd.${ending}`));
  const wasm = labelled(linked("wasm"), { variant: "simd", threads: true });
  writeIfChanged(path.join(output, "headwise.simd.wasm"), wasm);
  writeIfChanged(path.join(output, "headwise.simd.node.js"), Buffer.from(forNode(adapted(linked("js")))));
}

const adapted = (glue) =>
  tellingOfCrashes(withoutBindingsOfThreads(withoutOwnLoading(withoutLastingWait(String(glue)))));

const forPages = (glue) => startWorkersFromOwnUrl(knowingNode(glue, false), "import.meta.url");

const forNode = (glue) =>
  withoutAwaitAtTop(
    withoutCommandLineFlags(startWorkersFromOwnUrl(knowingNode(glue, true), "new URL(import.meta.url)")),
  );

/**
 * A bundler for servers, such as webpack, copies the loader for Node and minifies the copy as if it were a script, where
 * `await` outside of functions is an error. An import at the top is none.
 */
function withoutAwaitAtTop(glue) {
  const awaited = /\(await import\('worker_threads'\)\)\.workerData/g;
  return `import { workerData } from "node:worker_threads";\n${replaceOne(glue, awaited, "workerData")}`;
}

/**
 * The late part of the module imports the exports of the primary part as they are, without Emscripten's wrappers. A worker
 * that has no thread links it when the main thread says so, and answers with the error, or with nothing.
 */
function linkingLatePart(glue) {
  const received = /wasmExports\s*=\s*instance\.exports;/g;
  const message = /else if\s*\(cmd\s*===\s*"checkMailbox"\)\s*\{\s*if\s*\(initializedJS/g;
  const link =
    'else if(cmd==="linkLatePart"){let failure;' +
    'try{new WebAssembly.Instance(msgData.module,{primary:Module["primary"]})}catch(error){failure=String(error)}' +
    'postMessage({cmd:"callHandler",handler:"linkedLatePart",args:[failure]})}';
  const given = replaceOne(glue, received, (match) => `Module["primary"]=${match}`);
  return replaceOne(given, message, (match) => link + match);
}

/**
 * The linked loader asks whether it runs in Node or in a page. Each of the two files has the answer in it, and the minifier
 * removes what the other needs: bundlers for pages stumble over `import("module")`.
 */
function knowingNode(glue, isNode) {
  const whole = /var ENVIRONMENT_IS_NODE\s*=\s*typeof process\s*==\s*"object"[^;]*;/g;
  const start = /var isNode\s*=\s*typeof globalThis\.process\?[^;]*;/g; // the last lines, outside of the function
  const bare = replaceOne(replaceOne(glue, whole, ""), start, "");
  return bare.replace(/\b(ENVIRONMENT_IS_NODE|isNode)\b/g, `(${isNode})`);
}

/**
 * Writes the files that headwise/inline contains: a loader that loads nothing, and the module as text, which every
 * server can send. The module is also written as a file, for engines that compile no bytes (Cloudflare Workers).
 */
async function publishInline(linked, small) {
  const glue = await small(withoutOwnUrl(withoutOwnLoading(String(linked("js")))));
  refuse("headwise.inline", glue, ["fetch", "import(", "import.meta", "Worker(", "XMLHttpRequest"]);
  writeIfChanged(inlineModule.glue, Buffer.from(glue));
  const wasm = labelled(linked("wasm"), { variant: "simd", threads: false });
  writeIfChanged(path.join(dist, "wasm", "headwise.inline.wasm"), wasm);
  const { deflateSync } = await import("fflate"); // zlib's bytes depend on the version of Node
  const text = Buffer.from(deflateSync(wasm, { level: 9 })).toString("base64");
  writeIfChanged(inlineModule.wasm, Buffer.from(`export default ${JSON.stringify(text)};\n`));
}

function refuse(name, glue, forbidden) {
  for (const text of forbidden) if (glue.includes(text)) throw new Error(`${name}: its loader still has ${text}`);
}

/** Adds the label to a module, as a custom section; see web/src/load/moduleLabel.ts. */
function labelled(wasm, kind) {
  const label = Buffer.from(JSON.stringify({ version: packageVersion(), ...kind }));
  const name = Buffer.from("headwise");
  const section = Buffer.concat([Buffer.from([name.length]), name, label]);
  if (section.length > 127) throw new Error("the label is longer than its length in one byte says");
  return Buffer.concat([wasm, Buffer.from([0, section.length]), section]);
}

/** What tells that two parts are of one build: parts of two builds of one version may fit together, and compute nonsense. */
const buildOf = (primary, late) => createHash("sha256").update(primary).update(late).digest("hex").slice(0, 12);

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
