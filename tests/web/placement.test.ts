import { describe, expect, test } from "@jest/globals";
import { createAttention, OutOfMemoryError, UnsupportedError, type KvCache, type Layer } from "headwise";
import { createAttention as createInWorker } from "headwise/worker";

import type { Attention } from "../../web/src/instance/attention.js";
import { FAST, lostError, SLOW, syntheticInstance, type Behaviour } from "./syntheticEngine.js";

const zeros = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape });
const weights = (width: number) => {
  const weight = () => zeros(width, width);
  return { Wq: weight(), Wk: weight(), Wv: weight(), Wo: weight() };
};
const makeLayer = (hw: Attention, width = 512, options = {}) =>
  hw.multiHeadAttention({ numHeads: 8, weights: weights(width), ...options });
const makeCache = (hw: Attention, options = {}) => hw.kvCache({ numKvHeads: 32, headDim: 128, ...options });

type Instance = ReturnType<typeof syntheticInstance>;

/** Calls of attention until the GPU has been measured. */
async function calibrated(instance: Instance): Promise<Instance> {
  for (let call = 0; call < 3; ++call) {
    const x = () => zeros(1, 16, 1024, 64);
    await instance.hw.scaledDotProductAttention(x(), x(), x());
    await instance.engine.settled;
  }
  instance.gpu.ran.length = 0;
  instance.wasm.ran.length = 0;
  return instance;
}

async function forwards(instance: Instance, layer: { forward: Layer["forward"] }, calls: number, options = {}) {
  for (let call = 0; call < calls; ++call) {
    await layer.forward(zeros(1, 256, 512), options);
    await instance.engine.settled;
    await Promise.resolve();
  }
}

describe("a layer", () => {
  test("is made on wasm before the GPU is measured, and moves there once when that pays", async () => {
    const instance = syntheticInstance(FAST);
    const layer = await makeLayer(instance.hw);
    expect(layer.placement).toBe("wasm");
    await calibrated(instance);
    await forwards(instance, layer, 20);
    expect(layer.placement).toBe("webgpu");
    expect(instance.gpu.ran.filter((method) => method === "createLayer")).toHaveLength(2); // one is the check's
    instance.wasm.ran.length = 0;
    await forwards(instance, layer, 5);
    expect(instance.wasm.ran).toEqual([]);
    expect(instance.hw.report.calibration.checks.map(({ kind }) => kind)).toContain("layer 64×64, BSE");
  });

  test("stays on wasm beside a slow GPU", async () => {
    const instance = await calibrated(syntheticInstance(SLOW));
    const layer = await makeLayer(instance.hw);
    await forwards(instance, layer, 20);
    expect(layer.placement).toBe("wasm");
  });

  test("is made on the GPU at once when its kind has passed and its calls are predicted to be faster there", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    await forwards(instance, await makeLayer(instance.hw), 20);
    expect((await makeLayer(instance.hw)).placement).toBe("webgpu");
  });

  test("lies where `placement` says, whatever is predicted", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const [onCpu, onGpu] = [
      await makeLayer(instance.hw, 512, { placement: "wasm" }),
      await makeLayer(instance.hw, 16, { placement: "webgpu" }),
    ];
    await forwards(instance, onCpu, 20);
    await onGpu.forward(zeros(1, 1, 16));
    expect([onCpu.placement, onGpu.placement]).toEqual(["wasm", "webgpu"]);
  });

  test("goes back to wasm, which computes the call, when the GPU is lost", async () => {
    let fails = false;
    const before: Behaviour["before"] = () => {
      if (fails) throw lostError();
    };
    const instance = await calibrated(syntheticInstance(FAST, { before }));
    const layer = await makeLayer(instance.hw);
    await forwards(instance, layer, 20);
    expect(layer.placement).toBe("webgpu");
    fails = true;
    expect((await layer.forward(zeros(1, 256, 512))).output.shape).toEqual([1, 256, 512]);
    expect(layer.placement).toBe("wasm");
    expect(instance.hw.report.calibration.fallbacks.count).toBe(1);
  });

  test("whose kernels compute wrongly stays on wasm", async () => {
    const wrong: Behaviour["wrong"] = ({ method }) => method === "forward";
    const instance = await calibrated(syntheticInstance(FAST, { wrong }));
    const layer = await makeLayer(instance.hw);
    await forwards(instance, layer, 20);
    expect(layer.placement).toBe("wasm");
  });

  test("keeps its weights when the caller changes the arrays, also if it moves later", async () => {
    const instance = syntheticInstance(FAST);
    const given = weights(512);
    const layer = await instance.hw.multiHeadAttention({ numHeads: 8, weights: given });
    for (const { data } of Object.values(given)) structuredClone(data.buffer, { transfer: [data.buffer] });
    await calibrated(instance);
    await forwards(instance, layer, 20);
    expect(layer.placement).toBe("webgpu");
  });
});

describe("a layer that has saved calls", () => {
  const dOutput = () => zeros(1, 256, 512);
  const forwardSaved = async (layer: Layer) => (await layer.forward(zeros(1, 256, 512), { save: true })).saved;

  test("stays where they lie, and moves once they are used", async () => {
    const instance = syntheticInstance(FAST);
    const layer = await makeLayer(instance.hw);
    await calibrated(instance);
    const saved = await forwardSaved(layer);
    await forwards(instance, layer, 20);
    expect(layer.placement).toBe("wasm");
    expect((await layer.backward(saved, dOutput())).dInput.shape).toEqual([1, 256, 512]);
    await forwards(instance, layer, 20);
    expect(layer.placement).toBe("webgpu");
  });

  test("on the GPU computes their gradients there", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const layer = await makeLayer(instance.hw, 512, { placement: "webgpu" });
    const saved = await forwardSaved(layer);
    await layer.backward(saved, dOutput());
    expect(instance.gpu.ran.slice(-2)).toEqual(["forward", "backward"]);
    expect(instance.wasm.ran).not.toContain("backward");
  });

  test("loses them with the GPU: backward says so, and a new forward call can be differentiated", async () => {
    let fails = false;
    const before: Behaviour["before"] = () => {
      if (fails) throw lostError();
    };
    const instance = await calibrated(syntheticInstance(FAST, { before }));
    const layer = await makeLayer(instance.hw);
    await forwards(instance, layer, 20);
    const saved = await forwardSaved(layer);
    expect(layer.placement).toBe("webgpu");
    fails = true;
    await layer.forward(zeros(1, 256, 512));
    expect(layer.placement).toBe("wasm");
    expect(instance.gpu.released).toEqual(["webgpu"]);
    await expect(layer.backward(saved, dOutput())).rejects.toThrow(
      /^layer\.backward: saved was lost with the GPU that it lay on/,
    );
    const again = await forwardSaved(layer);
    expect((await layer.backward(again, dOutput())).dInput.data).toHaveLength(256 * 512);
  });

  test("keeps them if the GPU lacks memory: the call rejects, and wasm computes it once they are used", async () => {
    let fails = false;
    const before: Behaviour["before"] = () => {
      if (fails) throw new OutOfMemoryError("layer.forward: the GPU is out of memory");
    };
    const instance = await calibrated(syntheticInstance(FAST, { before }));
    const layer = await makeLayer(instance.hw);
    await forwards(instance, layer, 20);
    const saved = await forwardSaved(layer);
    fails = true;
    await expect(layer.forward(zeros(1, 256, 512))).rejects.toThrow("layer.forward: the GPU is out of memory");
    expect([layer.placement, instance.hw.report.calibration.fallbacks.count]).toEqual(["webgpu", 0]);
    fails = false;
    expect((await layer.backward(saved, dOutput())).dInput.shape).toEqual([1, 256, 512]);
    fails = true;
    expect((await layer.forward(zeros(1, 256, 512))).output.shape).toEqual([1, 256, 512]);
    expect([layer.placement, instance.hw.report.calibration.fallbacks.count]).toEqual(["wasm", 1]);
  });

  test("does not move away from them to a cache that must stay elsewhere", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const layer = await makeLayer(instance.hw);
    await forwards(instance, layer, 20);
    const saved = await forwardSaved(layer);
    const cache = await layer.kvCache({ placement: "wasm" });
    await expect(layer.forward(zeros(1, 2, 512), { cache })).rejects.toThrow(
      "layer.forward: the layer must stay on webgpu, where 1 saved calls of it lie",
    );
    expect([layer.placement, cache.length]).toEqual(["webgpu", 0]);
    expect((await layer.backward(saved, dOutput())).dInput.shape).toEqual([1, 256, 512]);
    await layer.forward(zeros(1, 2, 512), { cache });
    expect([layer.placement, cache.length]).toEqual(["wasm", 2]);
  });

  test("takes new weights along when it moves", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const layer = await makeLayer(instance.hw);
    await layer.update({ Wq: zeros(512, 512) });
    await forwards(instance, layer, 20);
    expect([layer.placement, instance.wasm.ran.includes("update")]).toEqual(["webgpu", true]);
  });
});

describe("a cache", () => {
  const append = (cache: KvCache, tokens: number) => cache.append(zeros(1, 32, tokens, 128), zeros(1, 32, tokens, 128));
  async function steps(instance: Instance, cache: KvCache, calls: number) {
    for (let call = 0; call < calls; ++call) {
      await cache.step(zeros(1, 32, 1, 128), zeros(1, 32, 1, 128), zeros(1, 32, 1, 128));
      await instance.engine.settled;
    }
  }

  test("moves to the GPU when its steps would have gained what the move costs, with all its tokens", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const cache = await makeCache(instance.hw, { placement: "auto" });
    await append(cache, 4000);
    expect(cache.placement).toBe("wasm");
    await steps(instance, cache, 60);
    expect([cache.placement, cache.length]).toEqual(["webgpu", 4060]);
    expect(instance.gpu.ran.filter((method) => method === "loadCache")).toHaveLength(1);
  });

  test("stays on wasm while it is short", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const cache = await makeCache(instance.hw);
    await steps(instance, cache, 60);
    expect([cache.placement, cache.length]).toEqual(["wasm", 60]);
  });

  test("lies where `placement` says", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const [onGpu, onCpu] = [
      await makeCache(instance.hw, { placement: "webgpu" }),
      await makeCache(instance.hw, { placement: "wasm" }),
    ];
    await append(onCpu, 4000);
    await steps(instance, onCpu, 60);
    await steps(instance, onGpu, 3);
    expect([onGpu.placement, onCpu.placement]).toEqual(["webgpu", "wasm"]);
    expect((await onGpu.fork()).placement).toBe("webgpu");
    expect((await instance.hw.kvCache({ from: await onCpu.save(), placement: "webgpu" })).placement).toBe("webgpu");
  });

  test("follows the layer that it is used with", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const layer = await makeLayer(instance.hw);
    const cache = await layer.kvCache();
    await forwards(instance, layer, 20, { cache });
    expect([layer.placement, cache.placement, cache.length]).toEqual(["webgpu", "webgpu", 20 * 256]);
  });

  test.each([0, 1, 2])(
    "on the GPU comes to a layer on wasm after %i other calls, also if the layer begins to move with that call",
    async (calls) => {
      const instance = await calibrated(syntheticInstance(FAST));
      const [first, second] = [await makeLayer(instance.hw), await makeLayer(instance.hw)];
      const cache = await first.kvCache();
      await forwards(instance, first, 20, { cache });
      expect(cache.placement).toBe("webgpu");
      await forwards(instance, second, calls);
      await second.forward(zeros(1, 256, 512), { cache });
      expect([cache.placement, cache.length]).toEqual([second.placement, 21 * 256]);
    },
  );

  test("and a layer that must lie apart are refused together, before anything is computed", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const layer = await makeLayer(instance.hw, 512, { placement: "wasm" });
    const cache = await layer.kvCache({ placement: "webgpu" });
    await expect(layer.forward(zeros(1, 2, 512), { cache })).rejects.toThrow(
      'layer.forward: cache must lie where the layer lies, got placement "webgpu" and "wasm"',
    );
    expect(cache.length).toBe(0);
  });

  test("on a GPU without room moves to wasm with its tokens, and the call is computed there", async () => {
    let fails = false;
    const before: Behaviour["before"] = (method) => {
      if (fails && method === "append") throw lostError();
    };
    const instance = await calibrated(syntheticInstance(FAST, { before }));
    const cache = await makeCache(instance.hw);
    await append(cache, 4000);
    await steps(instance, cache, 60);
    expect(cache.placement).toBe("webgpu");
    fails = true;
    await steps(instance, cache, 1);
    expect([cache.placement, cache.length]).toEqual(["wasm", 4061]);
  });
});

describe("an instance with one engine", () => {
  test("says where layers and caches lie, and refuses the other engine", async () => {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const cache = await hw.kvCache({ numKvHeads: 1, headDim: 4, placement: "wasm" });
    const layer = await hw.multiHeadAttention({ numHeads: 1, weights: weights(4) });
    expect([cache.placement, layer.placement]).toEqual(["wasm", "wasm"]);
    const saved = await cache.save();
    const refused = [
      hw.kvCache({ numKvHeads: 1, headDim: 4, placement: "webgpu" }),
      hw.multiHeadAttention({ numHeads: 1, weights: weights(4), placement: "webgpu" }),
      layer.kvCache({ placement: "webgpu" }),
      hw.kvCache({ from: saved, placement: "webgpu" }),
    ];
    for (const promise of refused) {
      const error = await promise.then(String, (reason: unknown) => reason);
      expect(UnsupportedError.is(error)).toBe(true);
      expect(String(error)).toMatch(/placement must be "auto" or "wasm", got "webgpu"/);
    }
    await expect(hw.kvCache({ numKvHeads: 1, headDim: 4, placement: "gpu" as never })).rejects.toThrow(
      'kvCache: placement must be "auto" or "wasm" or "webgpu", got "gpu"',
    );
    hw.dispose();
  });

  test("in a worker says it too", async () => {
    const hw = await createInWorker({ threads: 1 });
    const cache = await hw.kvCache({ numKvHeads: 1, headDim: 4 });
    const layer = await hw.multiHeadAttention({ numHeads: 1, weights: weights(4) });
    expect([cache.placement, layer.placement]).toEqual(["wasm", "wasm"]);
    expect(hw.report.reasons.webgpu).toBe("this environment has no navigator.gpu");
    expect(hw.report.calibration.state).toBe("off");
    expect(hw.gpu).toBeUndefined();
    const refused = hw.kvCache({ numKvHeads: 1, headDim: 4, placement: "webgpu" });
    await expect(refused).rejects.toThrow("kvCache: this environment has no navigator.gpu");
    hw.dispose();
  });
});
