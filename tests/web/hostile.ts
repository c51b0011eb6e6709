// Hostile arguments, for every operation and engine. A call must give a typed error or a correct result. It must never
// give numbers from other memory, and afterwards the instance must compute as before.

import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { HeadwiseError, type Attention } from "headwise";

import { bits } from "./close.js";
import { callsOf, SEED } from "./depth.js";
import { attacked, attacks, SECRET, type AttackedCall } from "./hostileArguments.js";
import { FUNCTIONS } from "./hostileFunctions.js";
import { B, D, floats, H, heads, prepare, PROGRAMS, S } from "./hostilePrograms.js";

/** Hostile calls between two good ones. */
const SERIES = 10;

const honest = (hw: Attention) =>
  hw.scaledDotProductAttention(heads(4), heads(5), heads(6), { causal: true, returns: { lse: true, probs: true } });

const secrets = (...shape: number[]) => {
  const tensor = floats(0, ...shape);
  tensor.data.fill(SECRET);
  return tensor;
};

const small = secrets(B, H, S, D);
const large = secrets(64, 64);

/** Puts the secret into the engine's memory: into arrays as small as those of the calls, and into larger ones. */
const secretCalls = (hw: Attention) =>
  Promise.all([
    hw.scaledDotProductAttention(small, small, small, { returns: { probs: true } }),
    hw.linear(large, large),
  ]);

/** Whether a number can only come from the secret. */
const isForeign = (x: number) => Math.abs(x) > 1e4 && Math.abs(x) < 1e30;

/** All numbers of a result, read without trusting any property of its arrays. */
function numbersOf(result: unknown): number[] {
  if (typeof result !== "object" || result === null) return [];
  const { data, shape } = result as { readonly data?: unknown; readonly shape?: readonly number[] };
  if (ArrayBuffer.isView(data) && shape) return valuesOf(data, shape);
  if (ArrayBuffer.isView(result)) return elementsOf(result);
  return Object.values(result).flatMap(numbersOf);
}

const elementsOf = (data: ArrayBufferView) =>
  [...(Uint8Array.prototype.values.call(data) as Iterable<number | bigint>)].map(Number);

/** The numbers of a tensor. If the array is longer than the shape says, the rest must be zeros. */
function valuesOf(data: ArrayBufferView, shape: readonly number[]): number[] {
  const all = elementsOf(data);
  const count = shape.reduce((product, extent) => product * extent, 1);
  return [...all.slice(0, count), ...all.slice(count).filter((x) => x !== 0)];
}

type Outcome = { readonly numbers: number[] } | { readonly error: unknown };

const outcomeOf = (call: Promise<unknown>): Promise<Outcome> =>
  call.then(
    (result) => ({ numbers: numbersOf(result) }),
    (error: unknown) => ({ error }),
  );

/** Fails unless the outcome is a typed error or a result that may be right. `again` makes the call without an attack. */
async function judge(
  { where, isSame }: AttackedCall<never>,
  outcome: Outcome,
  again: () => Promise<unknown>,
): Promise<void> {
  if ("error" in outcome) {
    const isTyped = HeadwiseError.is(outcome.error) && outcome.error.code !== "INTERNAL";
    if (!isTyped || isSame) throw new Error(`${where} ends badly`, { cause: outcome.error });
    return;
  }
  expect({ where, foreign: outcome.numbers.filter(isForeign) }).toEqual({ where, foreign: [] });
  if (isSame) expect({ where, ...outcome }).toEqual({ where, numbers: numbersOf(await again()) });
}

/** `calls` hostile calls, in series. */
async function assertSeries(calls: number, check: (series: readonly AttackChoices[]) => Promise<void>): Promise<void> {
  const series = fc.array(attacks, { minLength: SERIES, maxLength: SERIES });
  await fc.assert(fc.asyncProperty(series, check), { numRuns: Math.ceil(calls / SERIES), seed: SEED });
}

type AttackChoices = typeof attacks extends fc.Arbitrary<infer T> ? T : never;

/**
 * Makes the tests of an instance.
 *
 * @param usual - The number of hostile calls of each kind if the environment names none.
 */
export function hostileTests(open: () => Attention, usual: number, names = Object.keys(PROGRAMS)): void {
  test.each(names)(
    "%s: a typed error or a result without a foreign number, and the next call as before",
    async (name) => {
      const hw = open();
      const { args, run } = PROGRAMS[name]!;
      await prepare(hw);
      const expected = bits(await honest(hw));
      const again = async () => run(hw, args() as never);
      await again(); // it must be legal: otherwise every attack would be refused
      await assertSeries(callsOf(usual), async (series) => {
        for (const choices of series) {
          const attack = attacked(args(), choices);
          const before = secretCalls(hw);
          if (!choices.waits) await before;
          const call = outcomeOf((async () => run(hw, attack.args as never))());
          attack.after();
          await before;
          await judge(attack as AttackedCall<never>, await call, again);
        }
        expect(bits(await honest(hw))).toEqual(expected);
      });
    },
  );
}

/** Makes the tests of the functions that need no instance. */
export function hostileFunctionTests(usual: number): void {
  test.each(Object.keys(FUNCTIONS))("%s: a typed error or a result without a foreign number", async (name) => {
    const { args, run, part = 1 } = FUNCTIONS[name]!;
    const again = async () => await run(args() as never);
    await again();
    await assertSeries(callsOf(usual) * part, async (series) => {
      for (const choices of series) {
        const attack = attacked(args(), choices);
        const call = outcomeOf((async () => await run(attack.args as never))());
        attack.after();
        await judge(attack as AttackedCall<never>, await call, again);
      }
    });
  });
}
