// The decoder that the lab trains: its gradients, and what it learns.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { crossEntropy, embedding, flatten, layerNorm, random } from "headwise/train";

import { Aside } from "../../web/demo/train/aside.js";
import { Learner } from "../../web/demo/train/learner.js";
import { asParameters, initialParameters, Model, type Architecture } from "../../web/demo/train/model.js";
import { createTrainer, USUAL_SETTINGS } from "../../web/demo/train/trainer.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const SIZES = { vocabulary: 9, width: 16, layers: 2, heads: 2, length: 7 };
const KINDS: readonly (readonly [string, Architecture])[] = [
  ["attention only, rotary", { ...SIZES, position: "rotary", feedForward: 0 }],
  ["feed-forward blocks and learned positions", { ...SIZES, position: "learned", feedForward: 24 }],
  ["no positions", { ...SIZES, position: "none", feedForward: 0 }],
];

const tokens = { data: Int32Array.from({ length: 14 }, (_, n) => (n * 5 + 3) % 9), shape: [2, 7] };
const targets = { data: tokens.data.map((token, n) => (n % 7 === 6 ? -1 : (token * 2 + 1) % 9)), shape: [2, 7] };
const places = Int32Array.from(targets.data.keys()).filter((place) => targets.data[place]! >= 0);
const wanted = places.map((place) => targets.data[place]!);

describe.each(KINDS)("A decoder: %s", (_, architecture) => {
  test("has the gradients of central differences, parameter by parameter", async () => {
    const parameters = initialParameters(architecture, random(1), 0.3);
    const model = await Model.create(hw, architecture, parameters);
    model.headGains[1]![0] = 0.5;
    const { logits, saved } = await model.forward(tokens, places);
    const gradients = flatten(await model.backward(saved, crossEntropy(logits, wanted).dLogits));
    const lossAt = async () => {
      await model.update();
      return crossEntropy(await model.logits(tokens), targets).loss;
    };
    const named = flatten(parameters);
    expect(Object.keys(gradients).sort()).toEqual(Object.keys(named).sort());
    const directions = random(2);
    for (const [name, { data, shape }] of Object.entries(named)) {
      const direction = directions.normal(shape).data;
      const before = data.slice();
      const lossBeyond = async (h: number) => {
        data.forEach((__, n) => (data[n] = before[n]! + h * direction[n]!));
        return lossAt();
      };
      // Richardson's combination of the steps h and 2h: the error is of order h⁴, here below 10⁻⁴ of the largest slope;
      // the loss has about 6 exact digits
      const h = 0.01;
      const slope = async (each: number) => ((await lossBeyond(each)) - (await lossBeyond(-each))) / (2 * each);
      const expected = (4 * (await slope(h)) - (await slope(2 * h))) / 3;
      data.set(before);
      const actual = gradients[name]!.data.reduce((sum, each, n) => sum + each * direction[n]!, 0);
      expect(gradients[name]!.shape).toEqual(shape);
      expect({ name, error: Math.abs(actual - expected) < 2e-3 * Math.max(1, Math.abs(expected)) }).toEqual({
        name,
        error: true,
      });
    }
    model.dispose();
  });
});

test("A head that is switched off has no effect, and gets no gradient", async () => {
  const architecture = KINDS[0]![1];
  const parameters = initialParameters(architecture, random(1), 0.3);
  const model = await Model.create(hw, architecture, parameters);
  model.headGains[0]![1] = 0;
  const { logits, saved } = await model.forward(
    tokens,
    tokens.data.map((__, place) => place),
  );
  const { layers } = await model.backward(saved, crossEntropy(logits, targets.data).dLogits);
  const { Wv, Wo } = layers[0]!.attention;
  const columns = Wv.data.filter((_, n) => n % 16 >= 8);
  expect(columns.every((each) => each === 0)).toBe(true);
  expect(Wo.data.subarray(8 * 16).every((each) => each === 0)).toBe(true);
  expect(Wv.data.some((each) => each !== 0)).toBe(true);
  parameters.layers[0]!.attention.Wo.data.fill(5, 8 * 16);
  await model.update();
  expect((await model.logits(tokens)).data).toEqual(logits.data);
  model.dispose();
});

test("Learning lowers the loss of a batch that it sees again and again", async () => {
  const architecture = KINDS[1]![1];
  const learner = new Learner(
    await Model.create(hw, architecture, initialParameters(architecture, random(1), 0.1)),
    {},
  );
  const losses = [];
  for (let step = 0; step < 60; step++) losses.push((await learner.learn({ tokens, targets }, 0.01)).loss);
  expect(losses[0]).toBeGreaterThan(2); // about ln 9 = 2.2
  expect(losses.at(-1)).toBeLessThan(0.1);
  expect(learner.steps).toBe(60);
  learner.model.dispose();
});

describe.each([1, 2])("A question aside, after layer %i", (layers) => {
  const architecture = KINDS[1]![1];
  const asked = Int32Array.of(1, 4, 9);
  const answers = Int32Array.of(3, 8, 0);
  const opened = async () => {
    const model = await Model.create(hw, architecture, initialParameters(architecture, random(1), 0.3));
    const aside = new Aside(hw, { layers, share: 0.5 }, Aside.parameters(architecture, random(3), 0.3));
    return { model, aside };
  };

  test("gives the layers below the gradients of central differences, and those above none", async () => {
    const { model, aside } = await opened();
    const nothing = { data: new Float32Array(places.length * 9), shape: [places.length, 9] };
    const { saved } = await model.forward(tokens, places);
    const found = await aside.gradients(saved, asked, answers);
    const gradients = flatten({
      model: await model.backward(saved, nothing, found),
      aside: found.gradients,
    });
    const named = flatten({ model: model.parameters, aside: aside.parameters });
    const lossAt = async () => {
      await model.update();
      const { saved: again } = await model.forward(tokens, places);
      const rows = layers < again.blocks.length ? again.blocks[layers]!.x : again.rows;
      const read = embedding({ data: rows.data, shape: [14, 16] }, asked);
      const { norm, weight } = aside.parameters;
      return 0.5 * crossEntropy(await hw.linear(layerNorm(read, norm.gain, norm.bias), weight), answers).loss;
    };
    const directions = random(2);
    for (const [name, { data, shape }] of Object.entries(named)) {
      const direction = directions.normal(shape).data;
      const before = data.slice();
      const slope = async (h: number) => {
        const beyond = async (step: number) => {
          data.forEach((__, n) => (data[n] = before[n]! + step * direction[n]!));
          return lossAt();
        };
        return ((await beyond(h)) - (await beyond(-h))) / (2 * h);
      };
      const expected = (4 * (await slope(0.01)) - (await slope(0.02))) / 3; // as above
      data.set(before);
      const actual = gradients[name]!.data.reduce((sum, each, n) => sum + each * direction[n]!, 0);
      expect({ name, error: Math.abs(actual - expected) < 2e-3 * Math.max(1, Math.abs(expected)) }).toEqual({
        name,
        error: true,
      });
    }
    const isAbove = (name: string) =>
      /unembedding|^model\.norm/.test(name) || (layers === 1 && name.includes("layers.1."));
    for (const [name, { data }] of Object.entries(gradients))
      expect([name, data.some((each) => each !== 0)]).toEqual([name, !isAbove(name)]);
    model.dispose();
  });

  test("is learned with the next token, and goes on from a saved state", async () => {
    const { model, aside } = await opened();
    const learner = new Learner(model, {}, aside);
    const asides = { data: new Int32Array(14).fill(-1), shape: [2, 7] };
    asked.forEach((place, n) => (asides.data[place] = answers[n]!));
    const batch = { tokens, targets, asides };
    for (let step = 0; step < 80; step++) await learner.learn(batch, 0.01);
    const { saved } = await model.forward(tokens, places);
    const { dRows } = await aside.gradients(saved, asked, answers);
    expect(Math.max(...dRows.data.map(Math.abs))).toBeLessThan(0.05); // answers that are known move nothing
    const again = new Learner(model, { state: learner.state }, aside);
    expect(again.steps).toBe(80);
    expect((await again.learn({ tokens, targets }, 0.01)).loss).toBeLessThan(0.2); // a batch may ask nothing
    model.dispose();
  });
});

describe("A trainer", () => {
  const small = { ...USUAL_SETTINGS, width: 32, heads: 2, tokens: 24, vocabulary: 24, batch: 16, learningRate: 0.005 };

  test("learns to copy with two layers, and not with one", async () => {
    const accuracyOf = async (layers: number) => {
      const trainer = await createTrainer(hw, { ...small, layers });
      let accuracy = 0;
      for (let step = 1; step <= 450; step++) {
        const result = await trainer.step();
        if (step > 430) accuracy += result.accuracy / 20;
      }
      trainer.dispose();
      return accuracy;
    };
    expect(await accuracyOf(2)).toBeGreaterThan(0.95);
    expect(await accuracyOf(1)).toBeLessThan(0.3);
  });

  test("gives the same weights for the same settings, and takes weights", async () => {
    const [first, second] = [await createTrainer(hw, small), await createTrainer(hw, small)];
    for (let step = 0; step < 3; step++) expect(await first.step()).toEqual(await second.step());
    expect(flatten(first.parameters)).toEqual(flatten(second.parameters));
    const saved = structuredClone(first.saved); // as through a message
    const again = await createTrainer(hw, small, saved);
    expect(again.steps).toBe(first.steps);
    expect(await again.step()).toEqual(await first.step());
    expect(again.saved).toEqual(first.saved);
    expect(saved).not.toEqual(first.saved); // a copy
    again.dispose();
    const other = await createTrainer(hw, { ...small, seed: 2 });
    expect(flatten(other.parameters)).not.toEqual(flatten(first.parameters));
    await other.load(first.parameters);
    const sequence = Int32Array.of(3, 1, 4, 3, 1);
    expect(await other.look(sequence)).toEqual(await first.look(sequence));
    expect((await first.look(sequence)).probs.map(({ shape }) => shape)).toEqual([
      [1, 2, 5, 5],
      [1, 2, 5, 5],
    ]);
    [first, second, other].forEach((trainer) => trainer.dispose());
  });
});

test("Weights that were read from a file have their layers in order", () => {
  const parameters = initialParameters(KINDS[0]![1], random(1), 0.1);
  const { layers, ...rest } = parameters;
  expect(asParameters({ ...rest, layers: { 0: layers[0]!, 1: layers[1]! } })).toEqual(parameters);
});
