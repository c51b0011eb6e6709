// The WebAssembly modules: CMake and Ninja build what is stale, then the loaders are adapted and copied to dist/wasm.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { build, dist } from './paths.mjs';
import { run, say } from './run.mjs';

const VARIANTS = ['simd', 'relaxed'];

/** @param {import('../../cpp/toolchain/emscripten.mjs').Toolchain} toolchain */
export async function buildWasm(toolchain) {
  const folder = path.join(build, 'wasm');
  if (configuredFor(folder) !== toolchain.root) {
    say('wasm: configuring');
    const fresh = existsSync(folder) ? ['--fresh'] : [];
    await run('cmake', ['--preset', 'wasm', ...fresh], { env: toolchain.env, quiet: true });
    writeFileSync(path.join(folder, 'toolchain-root'), toolchain.root);
  }
  await run('cmake', ['--build', folder], { env: toolchain.env });
  for (const variant of VARIANTS) publish(folder, variant);
}

function configuredFor(folder) {
  const file = path.join(folder, 'toolchain-root');
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function publish(folder, variant) {
  const linked = (engine, ending) => readFileSync(path.join(folder, engine, `headwise.${variant}.${ending}`));
  const wasm = linked('web', 'wasm');
  if (!wasm.equals(linked('node', 'wasm'))) {
    throw new Error(`headwise.${variant}: the links for pages and for Node gave different wasm, so one cannot serve both`);
  }
  const output = path.join(dist, 'wasm');
  mkdirSync(output, { recursive: true });
  const publishFile = (ending, content) => writeIfChanged(path.join(output, `headwise.${variant}.${ending}`), content);
  publishFile('wasm', wasm);
  const glue = (engine) => withoutLastingWait(String(linked(engine, 'js')));
  publishFile('js', Buffer.from(startWorkersFromOwnUrl(glue('web'), 'import.meta.url')));
  const nodeGlue = startWorkersFromOwnUrl(glue('node'), 'new URL(import.meta.url)');
  publishFile('node.js', Buffer.from(withoutCommandLineFlags(nodeGlue)));
}

/**
 * The loader starts its threads from itself, by the name it was linked under. Served from elsewhere (a renamed file, a
 * blob) it must use the URL it was loaded from; and bundlers that see `new Worker(new URL("name", …))` in an asset try
 * to bundle it once more, some without end.
 */
function startWorkersFromOwnUrl(glue, ownUrl) {
  const byName = /new Worker\(new URL\("headwise\.\w+\.js",\s*import\.meta\.url\),/g;
  return replaceOne(glue, byName, `new Worker(${ownUrl},`);
}

/** Node gives workers the flags it was started with, and some (`--input-type` beside `--eval`) no worker can start with. */
function withoutCommandLineFlags(glue) {
  return replaceOne(glue, /workerData:\s*"em-pthread"/g, (match) => `${match},execArgv:[]`);
}

/**
 * The loader waits for messages of its threads by Atomics.waitAsync, for ever, and the waiting promise holds the whole
 * instance: none would ever be collected. Without, it gets them by postMessage, as where waitAsync does not exist.
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
  if (!existsSync(file) || !readFileSync(file).equals(content)) writeFileSync(file, content);
}
