// Functions that run in the page. Each returns milliseconds.

const floats = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => Math.sin(k + 1)),
  shape,
});

/** The longest time in which the page gets no messages during a call. It should be the time to copy the inputs. */
export async function longestTask(entry, options) {
  const { createAttention } = await import(entry);
  const hw = await createAttention(options);
  const x = floats(8, 2048, 64);
  await hw.scaledDotProductAttention(x, x, x); // the engine compiles
  let longest = 0;
  let last = performance.now();
  const { port1, port2 } = new MessageChannel();
  const hear = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  port1.onmessage = () => {
    hear();
    port2.postMessage(0);
  };
  port2.postMessage(0);
  await hw.scaledDotProductAttention(x, x, x);
  hear();
  port1.close();
  hw.dispose();
  return longest;
}

/** The time from the end of a computing worker to the rejection of the last call. */
export async function killedWorker(entry) {
  const { createAttention } = await import(entry);
  const workers = [];
  const Plain = window.Worker;
  window.Worker = class extends Worker {
    constructor(...options) {
      super(...options);
      workers.push(this);
    }
  };
  const hw = await createAttention();
  window.Worker = Plain;
  const large = floats(4, 16384, 64);
  const calls = [large, floats(2, 4)].map((x) => hw.scaledDotProductAttention(x, x, x).catch(() => performance.now()));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const killed = performance.now();
  workers[0].terminate();
  const ends = await Promise.all(calls);
  hw.dispose();
  return Math.max(...ends) - killed;
}

/** The same for a call during which a thread traps. A special loader makes it trap. */
export async function trappedThread(entry, loader) {
  const { createAttention } = await import(entry);
  const glueUrl = URL.createObjectURL(new Blob([loader], { type: "text/javascript" }));
  const hw = await createAttention({ variant: "simd", backend: "wasm", threads: 2, wasm: { glueUrl } });
  const x = floats(1, 8, 512, 64);
  const start = performance.now();
  const isWell = await hw.scaledDotProductAttention(x, x, x).then(
    () => true,
    () => false,
  );
  const milliseconds = performance.now() - start;
  hw.dispose();
  if (isWell) throw new Error("no thread trapped");
  return milliseconds;
}

/** The time between two frames while the pointer moves over a map of 512 × 512 cells, as a median. */
export async function hoverFrame() {
  const { defineElements } = await import("/dist/viz.js");
  defineElements();
  const map = document.createElement("attention-map");
  map.causal = true;
  map.probs = {
    data: Float32Array.from({ length: 8 * 512 * 512 }, (_, i) => (i % 997) / 997),
    shape: [8, 512, 512],
  };
  document.body.append(map);
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await frame();
  await frame();
  const grid = map.shadowRoot.querySelector("[role=grid]");
  const { x, y, width, height } = grid.getBoundingClientRect();
  const times = [];
  for (let n = 0; n < 120; ++n) {
    times.push(await frame());
    const [clientX, clientY] = [x + (width * n) / 121, y + (height * (120 - n)) / 121];
    grid.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true, composed: true }));
  }
  map.remove();
  const frames = times.slice(1).map((time, n) => time - times[n]);
  return frames.sort((a, b) => a - b)[Math.floor(frames.length / 2)];
}
