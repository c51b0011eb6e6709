// What a proof of a GPU has measured, as a file of the format headwise-bench. It uses no API of Node: the lab writes it too.

import { adapterName } from "../proof/summary.mjs";
import { asName, BenchFile } from "./benchFile.mjs";

/**
 * @param {object[]} records - of the hosts, as core.mjs gives them
 * @param {object} about
 * @param {string} about.date
 * @param {string} about.command
 * @param {{ version: string, commit?: string }} about.headwise
 * @param {(peer: string) => object} about.engineOf - a peer as an engine of the file
 */
export function fromProof(records, { engineOf, ...head }) {
  const measured = records.filter(({ rates, speed = [] }) => rates && speed.length > 0);
  const software = measured.some(({ adapter }) => adapter.software);
  const note = software ? "A software adapter computes on the CPU: its times say nothing of a GPU." : undefined;
  const file = new BenchFile({ ...head, note });
  for (const record of measured) addRecord(file, record, engineOf);
  file.fill("it was not measured here: the time was over, or the host does not have this engine");
  return file.document();
}

function addRecord(file, { host, adapter, headwise, rates, speed }, engineOf) {
  const device = file.addDevice(deviceOf(host, adapter));
  for (const each of speed) {
    const shape = file.addShape({ ...each, id: each.case });
    const roofline = { operations: (each.half && rates.f16) || rates.f32, bytes: rates.copy };
    const own = { library: "headwise", version: headwise, backend: "webgpu", variant: each.tiling };
    const place = (engine) => ({ device, engine: file.addEngine(engine), shape });
    if (each.failure) {
      file.missing(place(own), each.failure);
      continue;
    }
    file.measured(place(own), { samples: each.samples, roofline });
    for (const [peer, { notRun, samples, form }] of Object.entries(each.peers))
      if (notRun) file.missing(place(engineOf(peer)), notRun);
      else file.measured(place(engineOf(peer)), { samples, form, roofline });
  }
}

function deviceOf({ name: host, system, cpu, cores }, adapter) {
  const name = adapterName(adapter);
  const [, runtime = host, version] = /^(.*?)(?: ([\d.]+))?$/.exec(host);
  return {
    id: asName([host, cpu, name].filter(Boolean).join(", ")),
    ...(cpu && { cpu: asName(cpu) }),
    ...(cores && { cores }),
    ...(system && { system: asName(system) }),
    runtime: { name: asName(runtime), ...(version && { version }) },
    gpu: { name: asName(name), software: adapter.software },
  };
}
