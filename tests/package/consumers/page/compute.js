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
  await compareWithCache(hw, tokens, output.data);
  await lookInside(hw, tokens);
  const { backend, threads, variant, reasons } = hw.report;
  await hw.dispose();
  return { backend, threads, variant, reason: reasons.threads, rows: [...output.data.slice(0, 4)] };
}

/** The same by a cache: what it needs is in a file that is loaded only now. */
async function compareWithCache(hw, tokens, expected) {
  const cache = await hw.kvCache({ numKvHeads: 1, headDim: 2 });
  await cache.append(tokens, tokens);
  const { output } = await cache.attend(tokens, { causal: true });
  if (output.data.some((number, n) => Math.abs(number - expected[n]) > 1e-6))
    throw new Error(`${output.data} by a cache`);
}

/** What this needs is in the late part of the engine's WebAssembly. */
async function lookInside(hw, tokens) {
  const { probs } = await hw.scaledDotProductAttention(tokens, tokens, tokens, {
    causal: true,
    returns: { probs: true },
  });
  if (probs.data[0] !== 1) throw new Error(`${probs.data} are the weights`);
}
