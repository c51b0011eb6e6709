// What backend "auto" measures on this device, and which engine it then chooses.

const LONGEST_WAIT = 60_000;
const PAUSE = 100;

/** Shapes, small to large, that are given to "auto". */
const SHAPES = [
  { numHeads: 4, queryLength: 16, keyLength: 16, headDim: 64 },
  { numHeads: 12, queryLength: 128, keyLength: 128, headDim: 64 },
  { numHeads: 12, queryLength: 512, keyLength: 512, headDim: 64 },
  { numHeads: 8, queryLength: 1024, keyLength: 1024, headDim: 128 },
  { numHeads: 32, numKvHeads: 8, queryLength: 1, keyLength: 4096, headDim: 128 },
];

/**
 * Makes calls until the calibration has ended.
 *
 * @returns the report of the instance, and for each shape what `plan` says
 */
export async function calibrate({ createAttention, gpu, mayGoOn }) {
  const hw = await createAttention({ backend: "auto", calibrate: { keep: false }, ...(gpu && { gpu }) });
  try {
    if (hw.report.calibration === undefined) return { state: "not available", calibration: null, choices: [] };
    await callUntilReady(hw, mayGoOn);
    const { calibration, reasons } = hw.report;
    return {
      state: calibration.state,
      ...(reasons.webgpu && { reason: reasons.webgpu }),
      calibration,
      choices: await choicesOf(hw),
    };
  } finally {
    hw.dispose();
  }
}

async function callUntilReady(hw, mayGoOn) {
  // "auto" opens the GPU when calls would have gained from a good one. Beside 16 threads of wasm only large calls would.
  const shape = [1, 8, 2048, 128];
  const data = Float32Array.from({ length: 8 * 2048 * 128 }, (_, k) => Math.sin(k));
  const tensor = { data, shape };
  const end = performance.now() + LONGEST_WAIT;
  const isOpen = () => ["waiting", "running"].includes(hw.report.calibration.state);
  while (isOpen() && performance.now() < end && mayGoOn()) {
    await hw.scaledDotProductAttention(tensor, tensor, tensor);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

async function choicesOf(hw) {
  if (typeof hw.plan !== "function") return [];
  const choices = [];
  for (const shape of SHAPES) choices.push({ shape, plan: await hw.plan(shape) });
  return choices;
}
