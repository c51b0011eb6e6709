// npm run bench -- --backend webgpu: compares headwise on WebGPU with its peers, in one page of headless Chromium.

import { openPage } from "./chromium.mjs";
import { header, LEGEND, line, remarks } from "./table.mjs";

export const GPU_PEERS = ["ort", "tfjs"];

/** Returns the browser, its adapter, and the measurements. */
export async function benchWebgpu({ filter, quick, peers, rounds, verbose }) {
  const page = await openPage();
  const records = [];
  const engine = { engine: page.name };
  try {
    await page.run({ filter, quick, peers, rounds }, ({ machine, note, record }) => {
      if (machine) announce(Object.assign(engine, machine), page.name, peers);
      if (note) console.log(note);
      if (!record) return;
      records.push(record);
      console.log(line(record, peers));
      if (verbose) for (const remark of remarks(record)) console.log(`    ${remark}`);
    });
  } finally {
    await page.close();
  }
  return { ...engine, runs: [{ name: "WebGPU", records }] };
}

function announce({ adapter, rates }, browser, peers) {
  const name = [adapter.vendor, adapter.architecture, adapter.description].filter(Boolean).join(" ");
  console.log(`${name}, ${browser}, ${new Date().toISOString()}`);
  console.log(`features: ${adapter.features.join(", ") || "none"}`);
  if (adapter.fallback) console.log("SOFTWARE ADAPTER: it computes on the CPU; these numbers say nothing about a GPU.");
  const rate = (value, unit, size) => (value === undefined ? "none" : `${(value / size).toPrecision(3)} ${unit}`);
  console.log(
    `probes: f32 FMA ${rate(rates.f32, "TFLOP/s", 1e12)}, f16 operands with f32 sums ${rate(rates.f16, "TFLOP/s", 1e12)}, ` +
      `copy ${rate(rates.copy, "GB/s", 1e9)}`,
  );
  console.log(`${LEGEND}\n${header(peers)}`);
}
