import { afterEach, expect, test } from "@jest/globals";

import { withTurns } from "../../web/src/turn/turns.js";

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
    let came = false;
    setTimeout(() => (came = true), 0);
    const end = performance.now() + 60_000;
    while (!came && performance.now() < end) expect(await withTurns(Promise.resolve(1))).toBe(1);
    expect(came).toBe(true);
  },
);
