// The first rows of causal attention of three tokens, or the error, for the test to fetch.

import { createAttention, tensor } from "headwise";

async function compute() {
  const hw = await createAttention({ threads: 2, backend: "wasm" });
  const tokens = tensor(new Float32Array([1, 0, 0, 1, 1, 1]), [3, 2]);
  const { output } = await hw.scaledDotProductAttention(tokens, tokens, tokens, { causal: true });
  const { threads, variant, reasons } = hw.report;
  hw.dispose();
  return { threads, variant, reason: reasons.threads, rows: [...output.data.slice(0, 4)] };
}

globalThis.outcome = compute().catch(({ code, message, hint }) => ({ code, message, hint }));
