// `npm run bench -- --sizes`: what small apps load, and how long their first call takes over a slow connection. Vite builds each
// app as it would a user's; Chromium opens it, and what the server sent is what counts.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { brotliCompressSync } from "node:zlib";

import { chromium } from "playwright-core";
import { build, version as viteVersion } from "vite";

import { root } from "../../../web/build/paths.mjs";
import { gzipped } from "../../../web/build/sizes.mjs";
import { CHROMIUM } from "../../browser/launchOptions.mjs";
import { CHROMIUM_FLAG } from "../../webgpu/softwareAdapter.mjs";
import { keepRows, today } from "../../figures/file.mjs";
import { fillPages } from "../../figures/pages.mjs";
import { table } from "../columns.mjs";
import { summary } from "../harness/statistics.mjs";
import { commandOf } from "../schema/command.mjs";
import { APPS } from "./apps.mjs";
import { packedFiles, serveSlowly } from "./slowServer.mjs";

/** The table of the pages that `--record` keeps. */
const TABLE = "apps";

/** A mobile connection: 10 Mbit a second, and 40 ms from the page to the server and back. */
const CONNECTION = { bytesPerSecond: 1.25e6, latency: 40 };
const CPU_SLOWDOWN = 4;

/** Measures the apps whose name contains `filter`, prints a line for each, and keeps them in the table if it is named. */
export async function sizes({ filter, rounds, record }, args) {
  if (record && record !== TABLE) throw new Error(`--record: with --sizes the table must be ${TABLE}, got ${record}`);
  if (!APPS.some(({ name }) => name.includes(filter)))
    throw new Error(`--filter: no app is named ${JSON.stringify(filter)}`);
  const { records, version } = await measured({ filter, rounds });
  if (!record) return;
  const cells = (each) => COLUMNS.map(([, , text]) => text(each));
  keepRows(TABLE, {
    commands: [commandOf("bench", args)],
    date: today(),
    machine: `${cpus()[0]?.model}, ${availableParallelism()} cores, Chromium ${version}, Vite ${viteVersion}`,
    columns: COLUMNS.map(([title]) => title),
    rows: Object.fromEntries(records.map((each) => [each.name, cells(each)])),
  });
  fillPages();
}

async function measured({ filter, rounds }) {
  const [plain, withGpu] = await Promise.all([launch(), launch("--enable-unsafe-webgpu", CHROMIUM_FLAG)]);
  const records = [];
  const version = plain.version();
  console.log(`Chromium ${version}, load ${loadavg()[0].toFixed(1)}, ${rounds} rounds\n${header([])}`);
  try {
    for (const app of APPS.filter(({ name }) => name.includes(filter))) {
      records.push({ ...app, ...(await measureApp(app.isGpu ? withGpu : plain, app, rounds)) });
      console.log(line(records.at(-1), []));
    }
  } finally {
    await Promise.all([plain.close(), withGpu.close()]);
  }
  return { records, version };
}

const launch = (...args) => chromium.launch({ ...CHROMIUM, args: [...CHROMIUM.args, ...args] });

async function measureApp(browser, { source }, rounds) {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-size-"));
  try {
    await buildApp(folder, source);
    const visits = [];
    const files = packedFiles(path.join(folder, "dist"));
    for (let round = 0; round < rounds; ++round) visits.push(await visit(browser, files));
    return { ...sizesOf(visits[0].sent), milliseconds: summary(visits.map(({ milliseconds }) => milliseconds)).median };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Builds an app with Vite, without any option that changes what it makes. */
async function buildApp(folder, source) {
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(root, path.join(folder, "node_modules/headwise"), "dir");
  writeFileSync(path.join(folder, "index.html"), '<!doctype html><script type="module" src="./app.js"></script>');
  writeFileSync(path.join(folder, "app.js"), source);
  await build({ root: folder, configFile: false, logLevel: "error" });
}

/** Opens the app in a browser that has never seen it, and waits until its first call has ended. */
async function visit(browser, files) {
  const server = await serveSlowly(files, CONNECTION);
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
    let finish, fail;
    const finished = new Promise((resolve, reject) => ([finish, fail] = [resolve, reject]));
    page.on("pageerror", fail);
    await page.exposeFunction("finishedAfter", finish);
    await page.addInitScript(() => {
      globalThis.finish = () => globalThis.finishedAfter(performance.now());
    });
    await page.goto(server.url);
    return { milliseconds: await finished, sent: new Map(server.sent) };
  } finally {
    await context.close();
    server.stop();
  }
}

/** KB by gzip of what is JavaScript and what is WebAssembly, and KB by brotli of all. The page itself does not count. */
function sizesOf(sent) {
  const files = [...sent].filter(([name]) => /\.(js|wasm)$/.test(name));
  const sum = (size, chosen = files) => chosen.reduce((total, [, contents]) => total + size(contents), 0);
  const ending = (end) => files.filter(([name]) => name.endsWith(end));
  return {
    javascript: sum(gzipped, ending(".js")),
    wasm: sum(gzipped, ending(".wasm")),
    gzip: sum(gzipped),
    brotli: sum((contents) => brotliCompressSync(contents).length / 1000),
  };
}

const whole = (name) => (record) => Math.round(record[name]).toLocaleString("en");

const COLUMNS = [
  ["app", 29, ({ name }) => name],
  ["JavaScript", 11, whole("javascript")],
  ["wasm", 6, whole("wasm")],
  ["together", 9, whole("gzip")],
  ["goal", 6, ({ goal }) => (goal ? `≤ ${goal}` : "–")],
  ["brotli", 7, whole("brotli")],
  ["first call, s", 14, ({ milliseconds }) => (milliseconds / 1000).toFixed(2)],
];

const { header, line } = table(COLUMNS, 0);
