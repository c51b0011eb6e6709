// A program: gives every argument of every call something large where it expects something small, and writes the calls that
// are refused only after that has cost much to the file that is its argument.

import { writeFileSync } from "node:fs";

import { createAttention } from "headwise";

import { measureCost } from "./cost.js";
import { FUNCTIONS } from "../../web/hostileFunctions.js";
import { prepare, PROGRAMS } from "../../web/hostilePrograms.js";
import { badEnding, largeArguments } from "../../web/hostileValues.js";

/** These copy large lists of numbers, as they should. */
const COPYING = ["tensor", "tensor of lists", "formula", "formula.with"];

/** Large values that a call copies, as it should: ONNX tensors of plain arrays, and the optimizer's state of a tensor. */
const COPIED: readonly (readonly [call: RegExp, value: RegExp])[] = [
  [/^ONNX/, /plain array$/],
  [/^adamW/, /a large tensor$/],
];

/** How often a call that costs much is repeated. A collection of garbage in between counts for the call that it meets. */
const TRIES = 3;

async function costlyCalls(name: string, args: () => readonly unknown[], run: (args: never) => unknown) {
  const costly: string[] = [];
  const isCopied = (where: string) => COPIED.some(([call, value]) => call.test(name) && value.test(where));
  for (const large of largeArguments(args)) {
    if (isCopied(large.where)) continue;
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
  note(name, await costlyCalls(name, args, (given) => run(hw, given)));
for (const [name, { args, run }] of Object.entries(FUNCTIONS).filter(([name]) => !COPYING.includes(name)))
  note(name, await costlyCalls(name, args, run));
writeFileSync(process.argv[2]!, JSON.stringify(costly));
process.exit();
