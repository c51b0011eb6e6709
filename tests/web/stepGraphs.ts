import { expect } from "@jest/globals";
import type { Attention } from "headwise";
import { random, type Random } from "headwise/train";
import type { Recorder } from "../../web/src/step/recorder.js";
import type { StepTensor } from "../../web/src/step/stepTensor.js";

const ROWS = 3;
const WIDTH = 16;
const HALF = WIDTH / 2;
const INPUTS = ["x0", "x1"];

type Numbers = Float32Array;

/** A tensor of a step, and its numbers in a run: an input, or what follows from those of earlier nodes. */
interface Node {
  readonly tensor: StepTensor;
  readonly width: number;
  compute(earlier: readonly Numbers[], inputs: readonly Numbers[]): Numbers;
}

/** Adds a node: a sum, a product or a multiple of earlier ones, or half of the columns of one. */
function grow(recorder: Recorder, source: Random, nodes: Node[]): void {
  const drawn = (from: readonly number[]) => from[source.integer(from.length)]!;
  const all = [...nodes.keys()];
  const a = drawn(all);
  const { tensor, width } = nodes[a]!;
  const b = drawn(all.filter((n) => nodes[n]!.width === width));
  const other = nodes[b]!.tensor;
  switch (source.integer(width === WIDTH ? 4 : 3)) {
    case 0:
      nodes.push({ tensor: recorder.add(tensor, other), width, compute: (of) => of[a]!.map((x, i) => x + of[b]![i]!) });
      break;
    case 1:
      nodes.push({
        tensor: recorder.multiply(tensor, other),
        width,
        compute: (of) => of[a]!.map((x, i) => x * of[b]![i]!),
      });
      break;
    case 2:
      nodes.push({ tensor: recorder.scale(tensor, 0.5), width, compute: (of) => of[a]!.map((x) => x / 2) });
      break;
    default: {
      const from = source.integer(2) * HALF;
      nodes.push({
        tensor: recorder.columns(tensor, from, from + HALF),
        width: HALF,
        compute: (of) => of[a]!.filter((_, i) => i % WIDTH >= from && i % WIDTH < from + HALF),
      });
    }
  }
}

/** Records a random graph of operations, and runs it twice: each number is what its definition says. */
export async function expectGraph(hw: Attention, seed: number): Promise<void> {
  const source = random(seed);
  const nodes: Node[] = [];
  const given: number[] = [];
  const step = await hw.record((recorder) => {
    for (const [n, name] of INPUTS.entries())
      nodes.push({ tensor: recorder.input(name, [ROWS, WIDTH]), width: WIDTH, compute: (_, of) => of[n]! });
    while (nodes.length < 30) grow(recorder, source, nodes);
    for (let n = 0; n < 4; n++) given.push(source.integer(nodes.length));
    return Object.fromEntries(given.map((node, n) => [`y${n}`, nodes[node]!.tensor]));
  });
  for (let run = 0; run < 2; run++) {
    const inputs = INPUTS.map(() => source.normal([ROWS, WIDTH]));
    const results = await step.run(Object.fromEntries(INPUTS.map((name, n) => [name, inputs[n]!])));
    const wanted: Numbers[] = [];
    for (const node of nodes) wanted.push(node.compute(wanted, inputs.map(({ data }) => data))); // oxfmt-ignore
    expect(given.map((_, n) => results[`y${n}`]!.data)).toEqual(given.map((node) => wanted[node]!));
  }
  step.dispose();
}
