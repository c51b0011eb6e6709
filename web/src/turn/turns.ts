import { RealMessageChannel, realImmediate, realTimeout } from "../base/timers.js";

/** A page that does not turn for longer than a frame feels slow; a turn costs some ten microseconds. */
const LONGEST_MILLISECONDS = 12;

/** When the event loop of this thread has turned last, as far as calls know. */
let turned = -Infinity;

/** The turn that calls wait for now. */
let turning: Promise<void> | undefined;

/**
 * Lets the event loop turn, if calls may have kept it from that for too long: a loop of awaited calls never lets an event in,
 * because promises settle before the next event. So a click, a message and a timer come through, and an abort is seen.
 * Calls settle in their order. One that fails waits for the turn of those before it: its caller may await them first, and
 * would see its rejection too late.
 */
export async function withTurns<T>(call: Promise<T>): Promise<T> {
  try {
    const result = await call;
    if (performance.now() - turned > LONGEST_MILLISECONDS) turning ??= turn();
    return result;
  } finally {
    if (turning) await turning;
  }
}

async function turn(): Promise<void> {
  await nextEvents();
  turned = performance.now();
  turning = undefined;
}

/** Settles after the events that wait now. */
function nextEvents(): Promise<void> {
  return new Promise((resolve) => {
    if (realImmediate) realImmediate(resolve);
    else if (!RealMessageChannel) realTimeout(resolve, 0);
    else {
      // A timer would wait for 4 ms and more.
      const { port1, port2 } = new RealMessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(0);
    }
  });
}
