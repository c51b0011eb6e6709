// npm run gpu:proof: what the GPU of this machine computes, how fast, and what backend "auto" makes of it.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { build } from "../../../web/build/paths.mjs";
import { say } from "../../../web/build/run.mjs";
import { decimalNumber, fileToWrite, namesIn, optionsOf } from "../../../web/build/usage.mjs";

const HOSTS = ["node", "chromium"];
const MINUTES = 8;
const QUICK_MINUTES = 2;

const USAGE = `npm run gpu:proof -- [options]
  --quick        a part of the table and few other cases, as in CI
  --hosts LIST   of ${HOSTS.join(", ")}; default both
  --minutes N    the longest time of all hosts together, default ${MINUTES}, or ${QUICK_MINUTES} with --quick
  --save FILE    the JSON, default build/gpu-proof.json
  --json FILE    the times as a file of the format headwise-bench, which the lab draws; see ../schema/
  --built        does not build the package first
  --pack FOLDER  writes a folder that runs the proof on another machine (Linux x64), and runs nothing here
  --record FILE  keeps the speed of such a JSON in the table of web/docs/benchmarks.md, and runs nothing
  --help         this text
  HEADWISE_CHROMIUM_FLAGS gives Chromium what a GPU needs; on Linux for example
  --enable-features=Vulkan --use-angle=vulkan`;

function readOptions() {
  const values = optionsOf(USAGE);
  return {
    ...values,
    quick: values.quick === true,
    minutes: decimalNumber("--minutes", values.minutes ?? String(values.quick ? QUICK_MINUTES : MINUTES), 0.1, 1440),
    hosts: values.hosts === undefined ? HOSTS : namesIn("--hosts", values.hosts, HOSTS),
    save: values.save ?? path.join(build, "gpu-proof.json"),
    json: values.json === undefined ? undefined : fileToWrite("--json", values.json),
  };
}

/**
 * Runs the proof on each host, prints what it finds, and writes the JSON.
 *
 * @returns whether a host has run, and no case is wrong
 */
export async function proof({ quick, minutes, hosts, save, json }) {
  const { bundleCore, proveOn } = await import("./hosts.mjs"); // needs the packages
  const { documentOf, isRight } = await import("./record.mjs");
  const { summaryOf } = await import("./summary.mjs");
  await bundleCore();
  const date = new Date().toISOString();
  const end = Date.now() + 60_000 * minutes;
  const records = [];
  for (const [n, name] of hosts.entries()) {
    const seconds = (end - Date.now()) / 1e3 / (hosts.length - n);
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
