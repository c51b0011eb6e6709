import { getEventListeners } from "node:events";

import { describe, expect, test } from "@jest/globals";

import { Queue } from "../../web/src/turn/queue.js";

/** A promise, and the function that settles it. */
function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("a queue", () => {
  test("starts a call at once when no other is pending", async () => {
    const queue = new Queue();
    let started = false;
    const call = queue.run(() => (started = true));
    expect(started).toBe(true);
    await call;
    started = false;
    void queue.run(() => (started = true));
    expect(started).toBe(true);
  });

  test("runs overlapping calls one at a time, in order", async () => {
    const queue = new Queue();
    const events: string[] = [];
    const gates = [gate(), gate(), gate()];
    const calls = gates.map(({ opened }, n) =>
      queue.run(async () => {
        events.push(`start ${n}`);
        await opened;
        events.push(`end ${n}`);
      }),
    );
    for (const { open } of [...gates].reverse()) open();
    await Promise.all(calls);
    expect(events).toEqual(["start 0", "end 0", "start 1", "end 1", "start 2", "end 2"]);
  });

  test("hands on what a call throws, and goes on with the next", async () => {
    const queue = new Queue();
    const failing = queue.run(() => {
      throw new Error("no");
    });
    const next = queue.run(() => 2);
    await expect(failing).rejects.toThrow("no");
    await expect(next).resolves.toBe(2);
  });

  test("rejects an aborted call with the signal's reason as it waits, and never starts it", async () => {
    const queue = new Queue();
    const first = gate();
    const running = queue.run(() => first.opened);
    const controller = new AbortController();
    let started = false;
    const waiting = queue.run(() => (started = true), controller.signal);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    first.open();
    await running;
    await settled();
    expect(started).toBe(false);
  });

  test("lets the calls behind an aborted one wait for those ahead of it", async () => {
    const queue = new Queue();
    const first = gate();
    void queue.run(() => first.opened);
    const controller = new AbortController();
    const aborted = queue.run(() => 1, controller.signal);
    let started = false;
    const last = queue.run(() => (started = true));
    controller.abort();
    await expect(aborted).rejects.toThrow();
    await settled();
    expect(started).toBe(false);
    first.open();
    await last;
    expect(started).toBe(true);
  });

  test("does not start a call whose signal has aborted before", async () => {
    let started = false;
    const call = new Queue().run(() => (started = true), AbortSignal.abort());
    await expect(call).rejects.toThrow();
    expect(started).toBe(false);
  });

  test("does not stop a call that runs", async () => {
    const queue = new Queue();
    const first = gate();
    const controller = new AbortController();
    const running = queue.run(() => first.opened.then(() => "done"), controller.signal);
    controller.abort();
    first.open();
    await expect(running).resolves.toBe("done");
  });
});

describe("a signal", () => {
  test("has one listener however many calls wait with it, and none when they have settled", async () => {
    const queue = new Queue();
    const { open, opened } = gate();
    const { signal } = new AbortController();
    const calls = Array.from({ length: 20 }, () =>
      queue.run(
        () => opened,
        signal,
        () => true,
      ),
    );
    await settled();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    open();
    await Promise.all(calls);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("of many calls that wait rejects each of them", async () => {
    const queue = new Queue();
    const { open, opened } = gate();
    const running = queue.run(() => opened);
    const controller = new AbortController();
    const calls = Array.from({ length: 20 }, () => queue.run(() => "ran", controller.signal));
    controller.abort(new Error("enough"));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    open();
    await running;
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  /** A signal of an old engine, without `throwIfAborted` and `reason`. */
  function oldSignal() {
    const listeners = new Set<() => void>();
    const signal = { aborted: false, addEventListener: (_: string, listener: () => void) => listeners.add(listener) };
    const abort = () => {
      signal.aborted = true;
      listeners.forEach((listener) => listener());
    };
    return { signal: signal as unknown as AbortSignal, abort };
  }

  test("without throwIfAborted, reason and removeEventListener aborts calls that wait, and calls to come", async () => {
    const queue = new Queue();
    const { open, opened } = gate();
    const { signal, abort } = oldSignal();
    const running = queue.run(() => opened.then(() => "ran"), signal);
    const waiting = queue.run(() => "ran", signal);
    await settled();
    abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    open();
    await expect(running).resolves.toBe("ran");
    await expect(queue.run(() => "ran", signal)).rejects.toMatchObject({ name: "AbortError" });
  });
});
