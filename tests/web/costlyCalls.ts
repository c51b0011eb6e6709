// A program: gives every argument of every call something large where it expects something small, and prints the calls that
// are refused only after that has cost much. A module in Jest's sandbox takes several times as long, so this runs outside.

import { createAttention } from "headwise";

import { measureCost } from "./cost.js";
import { FUNCTIONS } from "./hostileFunctions.js";
import { prepare, PROGRAMS } from "./hostilePrograms.js";
import { badEnding, largeArguments } from "./hostileValues.js";

/** These copy large lists of numbers, as they should. */
const COPYING = ["tensor", "tensor of lists", "formula", "formula.with"];

/** How often a call that costs much is repeated. A collection of garbage in between counts for the call that it meets. */
const TRIES = 3;

/** @param copies - Whether the calls make tensors of plain arrays of any length. */
async function costlyCalls(args: () => readonly unknown[], run: (args: never) => unknown, copies = false) {
  const costly: string[] = [];
  for (const large of largeArguments(args)) {
    if (copies && large.where.endsWith("plain array")) continue;
    const call = () => run(large.args as never);
    let bad = await badCost(call, large.isCalled);
    for (let n = 1; bad !== undefined && n < TRIES; ++n) bad = await badCost(call, large.isCalled);
    if (bad !== undefined) costly.push(`${large.where}: ${bad}`);
  }
  return costly;
}

/** What a call costs too much, or how it ends badly. A legal call may cost what it costs. */
async function badCost(run: () => unknown, isCalled: boolean): Promise<string | undefined> {
  const cost = measureCost();
  let isDone = false;
  const ending = await badEnding(async () => {
    await run();
    isDone = true;
  }, isCalled);
  return ending ?? (isDone ? undefined : cost.tooMuch());
}

const hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
await prepare(hw);
const costly: Record<string, readonly string[]> = {};
const note = (name: string, found: readonly string[]) => found.length > 0 && (costly[name] = found);
for (const [name, { args, run }] of Object.entries(PROGRAMS))
  note(name, await costlyCalls(args, (given) => run(hw, given), name.startsWith("ONNX")));
for (const [name, { args, run }] of Object.entries(FUNCTIONS).filter(([name]) => !COPYING.includes(name)))
  note(name, await costlyCalls(args, run));
console.log(JSON.stringify(costly));
process.exit();
