// npm run gpu:proof: what the GPU of this machine computes, how fast, and what backend "auto" makes of it.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { build } from "../../../web/build/paths.mjs";
import { say } from "../../../web/build/run.mjs";

const MINUTES = 8;
const QUICK_MINUTES = 2;

const USAGE = `npm run gpu:proof -- [options]
  --quick        a part of the table and few other cases, as in CI
  --hosts LIST   of node, chromium; default both
  --minutes N    the longest time of all hosts together, default ${MINUTES}, or ${QUICK_MINUTES} with --quick
  --save FILE    the JSON, default build/gpu-proof.json
  --json FILE    the times as a file of the format headwise-bench, which the lab draws; see ../schema/
  --built        does not build the package first
  --pack FOLDER  writes a folder that runs the proof on another machine (Linux x64), and runs nothing here
  --record FILE  keeps the speed of such a JSON in the table of web/docs/benchmarks.md, and runs nothing
  HEADWISE_CHROMIUM_FLAGS gives Chromium what a GPU needs; on Linux for example
  --enable-features=Vulkan --use-angle=vulkan`;

function readOptions() {
  const text = { type: "string" };
  const flag = { type: "boolean", default: false };
  const { values } = parseArgs({
    options: {
      quick: flag,
      built: flag,
      help: flag,
      hosts: text,
      minutes: text,
      save: text,
      json: text,
      pack: text,
      record: text,
    },
  });
  if (values.help) return undefined;
  const minutes = Number(values.minutes ?? (values.quick ? QUICK_MINUTES : MINUTES));
  if (!(minutes > 0)) throw new Error(`--minutes: must be more than 0, got ${values.minutes}`);
  return {
    minutes,
    ...{ quick: values.quick, built: values.built },
    hosts: values.hosts?.split(","),
    save: values.save ?? path.join(build, "gpu-proof.json"),
    json: values.json,
    pack: values.pack,
    record: values.record,
  };
}

/**
 * Runs the proof on each host, prints what it finds, and writes the JSON.
 *
 * @returns whether a host has run, and no case is wrong
 */
export async function proof({ quick, minutes, hosts, save, json }) {
  const { bundleCore, HOSTS, proveOn } = await import("./hosts.mjs"); // needs the packages
  const { documentOf, isRight } = await import("./record.mjs");
  const { summaryOf } = await import("./summary.mjs");
  const names = hosts ?? Object.keys(HOSTS);
  const unknown = names.find((name) => !(name in HOSTS));
  if (unknown) throw new Error(`--hosts: no ${unknown}, only ${Object.keys(HOSTS).join(", ")}`);
  await bundleCore();
  const date = new Date().toISOString();
  const end = Date.now() + 60_000 * minutes;
  const records = [];
  for (const [n, name] of names.entries()) {
    const seconds = (end - Date.now()) / 1e3 / (names.length - n);
    const record = await proveOn(name, { seconds, quick }, printer(name));
    records.push(record);
    console.log(summaryOf(record).join("\n"));
  }
  mkdirSync(path.dirname(path.resolve(save)), { recursive: true });
  writeFileSync(save, `${JSON.stringify(documentOf(records), undefined, 1)}\n`);
  console.log(`\nwritten to ${save}`);
  if (json) await writeBench(json, records, date);
  return records.every(isRight) && records.some(({ notRun }) => notRun === undefined);
}

/** Writes the times in the format headwise-bench. */
async function writeBench(file, records, date) {
  const { commandOf } = await import("../schema/command.mjs");
  const { fromProof } = await import("../schema/fromProof.mjs");
  const { commit, engineOf, headwiseVersion } = await import("../schema/libraries.mjs");
  const about = {
    ...{ date, command: commandOf("gpu:proof", process.argv.slice(2)) },
    headwise: { version: headwiseVersion(), commit: commit() },
    engineOf: (peer) => engineOf(peer, { backend: "webgpu" }),
  };
  writeFileSync(file, `${JSON.stringify(fromProof(records, about), undefined, 1)}\n`);
  console.log(`times written to ${file}`);
}

/** Prints progress: on one line of a terminal, elsewhere a line for each tenth. */
function printer(host) {
  let tenth = -1;
  return ({ what, done, total }) => {
    const text = `${host} ${String(Math.floor((100 * done) / total)).padStart(3)} %  ${what}`;
    if (process.stderr.isTTY) return process.stderr.write(`\r\x1b[K${done < total ? text.slice(0, process.stderr.columns - 1) : ""}`); // oxfmt-ignore
    const now = Math.floor((10 * done) / total);
    if (now > tenth) say(text);
    tenth = Math.max(tenth, now);
  };
}

async function main() {
  const options = readOptions();
  if (!options) return console.log(USAGE);
  if (options.record !== undefined) {
    (await import("./keep.mjs")).record(options.record);
    return (await import("../../figures/pages.mjs")).fillPages();
  }
  if (!options.built) await (await import("../../../web/build/build.mjs")).buildToRun();
  if (options.pack !== undefined) {
    const { pack } = await import("./pack.mjs"); // needs the packages
    const bytes = await pack(options.pack);
    return console.log(`${options.pack}: ${(bytes / 1e6).toFixed(1)} MB. On the other machine: ./run`);
  }
  if (!(await proof(options))) process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  await main().catch((error) => {
    say(error.message);
    process.exitCode = 1;
  });
