// node exit.mjs ENTRY [dispose]: makes one call, and with "dispose" disposes the instance. The process must end by
// itself. Prints when it had nothing left to do (for the bench), how many timers are left, and which listeners the
// package has added to the process.
const [, , entry, ending] = process.argv;
const { createAttention } = await import(entry);
const events = [
  "uncaughtException",
  "unhandledRejection",
  "exit",
  "beforeExit",
  "SIGINT",
  "SIGTERM",
  "warning",
  "message",
];
const listeners = () => events.map((event) => process.listenerCount(event));
const before = listeners();

const hw = await createAttention({ threads: 2 });
const x = { data: new Float32Array(64 * 8).fill(1), shape: [64, 8] };
const { output } = await hw.scaledDotProductAttention(x, x, x);
const during = listeners();
if (ending === "dispose") hw.dispose();
const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
console.log(JSON.stringify({ first: output.data[0], before, during, timers, done: Date.now() }));
