// The proof in a page of Chromium that serves the repository.

/** @returns the record */
export async function run({ hasOrt, ...options }, report) {
  const { prove } = await import("/build/proof/core.mjs");
  const { createAttention } = await import("/dist/index.js");
  const table = await (await fetch("/tests/cases/attention.json")).json();
  const { platform, hardwareConcurrency } = navigator;
  const host = { ...options.host, system: platform, cores: hardwareConcurrency };
  return prove({ gpu: navigator.gpu, createAttention, table, ...(await openPeers(hasOrt)), report, ...options, host });
}

async function openPeers(hasOrt) {
  if (!hasOrt) return { missingPeers: { ort: "it is not installed; npm ci in tests/bench installs it" } };
  try {
    const { open } = await import("/tests/bench/webgpu/ort.mjs");
    return { peers: [{ name: "ort", ...(await open()) }] };
  } catch (error) {
    return { missingPeers: { ort: error.message } };
  }
}
