import { createAttention } from "headwise/worker";

export const dynamic = "force-static";

export async function GET() {
  const hw = await createAttention({ threads: 2, backend: "wasm" });
  const tokens = { data: new Float32Array([1, 0, 0, 1, 1, 1]), shape: [3, 2] };
  const { output } = await hw.scaledDotProductAttention(tokens, tokens, tokens, { causal: true });
  const { threads } = hw.report;
  await hw.dispose();
  return Response.json({ threads, rows: Array.from(output.data.subarray(0, 4)) });
}
