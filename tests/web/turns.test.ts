import { afterEach, expect, jest, test } from "@jest/globals";

import { createAttention } from "headwise/inline";

const names = ["setImmediate", "MessageChannel"] as const;
const usual = names.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)!] as const);
afterEach(() => {
  for (const [name, descriptor] of usual) Object.defineProperty(globalThis, name, descriptor);
});

/** jsdom has neither; browsers have no setImmediate. */
test.each([[[]], [["setImmediate"]], [["setImmediate", "MessageChannel"]]] as const)(
  "events come through between calls in an environment without %j",
  async (missing) => {
    for (const name of missing) Reflect.deleteProperty(globalThis, name);
    jest.resetModules();
    const { withTurns } = await import("../../web/src/turn/turns.js");
    let came = false;
    setTimeout(() => (came = true), 0);
    const end = performance.now() + 60_000;
    while (!came && performance.now() < end) expect(await withTurns(Promise.resolve(1))).toBe(1);
    expect(came).toBe(true);
  },
);

test("the fake timers of a test stop no call", async () => {
  jest.useFakeTimers({ doNotFake: ["performance"] });
  const hw = await createAttention();
  const x = { data: new Float32Array(4).fill(1), shape: [2, 2] };
  const end = performance.now() + 100; // a turn comes every 12 ms
  while (performance.now() < end) expect((await hw.scaledDotProductAttention(x, x, x)).output.data[0]).toBe(1);
  hw.dispose();
  jest.useRealTimers();
});
