// npm run bench -- --backend webgpu: headwise on WebGPU beside its peers, in one page of headless Chromium.

import { writeFileSync } from "node:fs";

import { openPage } from "./chromium.mjs";
import { header, LEGEND, line, remarks } from "./table.mjs";

export const GPU_PEERS = ["ort", "tfjs"];

export async function benchWebgpu({ filter, peers, rounds, json, verbose }) {
  const page = await openPage();
  const results = { date: new Date().toISOString(), browser: page.name, records: [] };
  try {
    await page.run({ filter, peers, rounds }, ({ machine, note, record }) => {
      if (machine) announce((results.machine = machine), page.name, results.date, peers);
      if (note) console.log(note);
      if (!record) return;
      results.records.push(record);
      console.log(line(record, peers));
      if (verbose) for (const remark of remarks(record)) console.log(`    ${remark}`);
    });
  } finally {
    await page.close();
  }
  if (json) writeFileSync(json, `${JSON.stringify(results, undefined, 1)}\n`);
}

function announce({ adapter, rates }, browser, date, peers) {
  const name = [adapter.vendor, adapter.architecture, adapter.description].filter(Boolean).join(" ");
  console.log(`${name}, ${browser}, ${date}`);
  console.log(`features: ${adapter.features.join(", ") || "none"}`);
  if (adapter.fallback) console.log("SOFTWARE ADAPTER: it computes on the CPU; these numbers say nothing about a GPU.");
  const rate = (value, unit, size) => (value === undefined ? "none" : `${(value / size).toPrecision(3)} ${unit}`);
  console.log(
    `probes: f32 FMA ${rate(rates.f32, "TFLOP/s", 1e12)}, f16 operands with f32 sums ${rate(rates.f16, "TFLOP/s", 1e12)}, ` +
      `copy ${rate(rates.copy, "GB/s", 1e9)}`,
  );
  console.log(`${LEGEND}\n${header(peers)}`);
}
