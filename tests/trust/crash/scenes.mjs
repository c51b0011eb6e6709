// What may go wrong while calls run. Each scene makes calls, lets something happen, and tells how the calls ended and
// after how many milliseconds. Scenes run in Node and in pages.

const HUNG = "did not settle";
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const floats = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, n) => Math.sin(n)),
  shape,
});

/** One call that takes long and two that wait for it. `length` decides how long. */
function overlappingCalls(hw, length) {
  const [large, small] = [floats(length, 64), floats(2, 4)];
  return [large, small, small].map((x) => hw.scaledDotProductAttention(x, x, x));
}

/** The endings of calls, timed from when `happens` has resolved. `hangs`: milliseconds after which a call hangs. */
async function endingsOf(calls, happens, hangs) {
  const timed = calls.map((call) =>
    call.then(
      ({ output }) => ({
        ending: output.data.every(Number.isFinite) ? "right" : "wrong values",
        at: performance.now(),
      }),
      ({ name, code }) => ({ ending: code ? `${name} ${code}` : `untyped ${name}`, at: performance.now() }),
    ),
  );
  const begun = (await happens()) ?? performance.now();
  const late = pause(hangs).then(() => ({ ending: HUNG, at: Infinity }));
  const endings = await Promise.all(timed.map((ending) => Promise.race([ending, late])));
  return endings.map(({ ending, at }) => ({ ending, milliseconds: Math.max(0, at - begun) }));
}

/** So that the first call usually computes already. */
const onceItComputes = (act) => async () => {
  await pause(50);
  return act();
};

const VERY_LONG = 32768;

/**
 * @typedef {object} Tools
 * @property {object} direct - exports of headwise
 * @property {object} inWorker - exports of headwise/worker
 * @property {{ terminate(): unknown }[]} workers - all that were started
 * @property {string} [glueUrl] - a loader whose threads trap
 * @property {GPU} [gpu]
 * @property {number} hangs - milliseconds
 */
export const SCENES = {
  /** @param {Tools} tools */
  async "worker killed"({ inWorker, workers, hangs }) {
    const hw = await inWorker.createAttention({ backend: "wasm", threads: 1 });
    const kill = onceItComputes(() => void workers.at(-1).terminate());
    const endings = await endingsOf(overlappingCalls(hw, VERY_LONG), kill, hangs);
    void hw.dispose();
    return endings;
  },

  async "pool thread trapped"({ direct, glueUrl, hangs }) {
    const hw = await direct.createAttention({ backend: "wasm", variant: "simd", threads: 2, wasm: { glueUrl } });
    const begun = performance.now(); // the trap comes later, at a time that nobody sees
    const endings = await endingsOf(overlappingCalls(hw, 512), async () => begun, hangs);
    void hw.dispose();
    return endings;
  },

  async "pool thread killed"({ direct, workers, hangs }) {
    const before = workers.length;
    const hw = await direct.createAttention({ backend: "wasm", threads: 2 });
    const x = floats(64, 64);
    await hw.scaledDotProductAttention(x, x, x);
    const threads = workers.slice(before);
    if (threads.length === 0) throw new Error("there is no thread");
    const kill = onceItComputes(() => void threads.at(-1).terminate());
    const endings = await endingsOf(overlappingCalls(hw, VERY_LONG), kill, hangs);
    void hw.dispose();
    return endings;
  },

  async "device destroyed"({ direct, gpu, hangs }) {
    const device = await (await gpu.requestAdapter()).requestDevice();
    const hw = await direct.createAttention({ backend: "webgpu", device });
    const x = floats(2, 4);
    await hw.scaledDotProductAttention(x, x, x);
    const endings = await endingsOf(overlappingCalls(hw, 2048), async () => device.destroy(), hangs);
    void hw.dispose();
    return endings;
  },
};

/**
 * The page is frozen while calls run. The browser freezes it and wakes it, so the calls are made first and asked for later.
 * Times count from the moment at which the page is awake again.
 */
export async function callsBeforeFreezing({ inWorker, hangs }) {
  const hw = await inWorker.createAttention({ backend: "wasm" });
  const states = [];
  const awake = new Promise((resolve) => {
    for (const name of ["freeze", "resume"]) document.addEventListener(name, () => states.push(name));
    document.addEventListener("resume", () => resolve(performance.now()));
  });
  const calls = overlappingCalls(hw, 2048);
  return async () => {
    const endings = await endingsOf(calls, () => awake, hangs);
    void hw.dispose();
    return { endings, states };
  };
}
