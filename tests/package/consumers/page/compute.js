/**
 * Leaves in `outcome`, for the test to fetch: the first rows of causal attention of three tokens to themselves and what
 * the instance says of itself, or the error.
 */
export function report(creating) {
  globalThis.outcome = creating
    .then(compute)
    .catch(({ name, code, message, hint }) => ({ code: code ?? name, message, hint }));
}

async function compute(hw) {
  const tokens = { data: new Float32Array([1, 0, 0, 1, 1, 1]), shape: [3, 2] };
  const { output } = await hw.scaledDotProductAttention(tokens, tokens, tokens, { causal: true });
  const { backend, threads, variant, reasons } = hw.report;
  await hw.dispose();
  return { backend, threads, variant, reason: reasons.threads, rows: [...output.data.slice(0, 4)] };
}
