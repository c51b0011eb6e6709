// What npm run bench has measured, as a file of the format headwise-bench.

import { arch, platform } from "node:os";

import { BUSY } from "../compare.mjs";
import { asName, BenchFile } from "./benchFile.mjs";
import { commandOf } from "./command.mjs";
import { engineOf, headwiseVersion } from "./libraries.mjs";

/**
 * @param {import("../compare.mjs").Saved} saved - what `--save` writes
 * @param {string[]} args - of the command
 */
export function fromBench({ date, commit, load, machine, options, runs }, args) {
  const isBusy = load > machine.cores * BUSY;
  const file = new BenchFile({
    ...{ date, command: commandOf("bench", args), headwise: { version: headwiseVersion(), commit } },
    ...(isBusy && { note: `The machine was busy: load ${load.toFixed(1)} on ${machine.cores} cores.` }),
  });
  const device = file.addDevice(deviceOf(machine, load));
  for (const run of runs.filter(({ name }) => name !== "times"))
    for (const record of run.records.filter(({ samples }) => samples))
      addRecord(file, device, record, { ...run, peers: options.peers, rates: machine.rates });
  return file.document();
}

function deviceOf({ cpu, cores, engine, adapter }, load) {
  const [name, version] = engine.split(" ");
  return {
    id: asName([engine, cpu, adapter && adapterName(adapter)].filter(Boolean).join(", ")),
    ...(cpu && { cpu: asName(cpu) }),
    ...{ cores, system: `${platform()} ${arch()}`, load, runtime: { name, version } },
    ...(adapter && { gpu: { name: asName(adapterName(adapter)), software: adapter.fallback } }),
  };
}

export function adapterName({ vendor, architecture, device, description }) {
  return [vendor, architecture, description || device].filter(Boolean).join(" ") || "an adapter without a name";
}

function addRecord(file, device, record, { variant, threads, peers, rates }) {
  const backend = rates ? "webgpu" : "wasm";
  const shape = file.addShape({ id: record.case, ...record });
  const roofline = rooflineOf(record, rates);
  const own = { library: "headwise", version: headwiseVersion(), backend, variant, threads };
  const add = (engine, figures) => file.measured({ device, engine: file.addEngine(engine), shape }, { ...figures, roofline }); // oxfmt-ignore
  add(own, { samples: record.samples });
  if (record.inside) add({ ...own, variant: `${variant}, tensors inside` }, { samples: record.inside.samples });
  for (const name of peers) {
    const engine = engineOf(name, { backend, threads });
    const figures = record.peers[name];
    if (figures) add(engine, figures);
    else file.missing({ device, engine: file.addEngine(engine), shape }, record.notRun[name] ?? "it does not run here");
  }
}

/** What the probes reached: during the case in WebAssembly, once for the device on WebGPU. */
function rooflineOf({ roofline, half }, rates) {
  if (rates) return { operations: (half && rates.f16) || rates.f32, bytes: rates.copy };
  return { operations: roofline.gflops * 1e9, bytes: roofline.gigabytes * 1e9 };
}
