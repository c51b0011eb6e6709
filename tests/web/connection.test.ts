import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";

import { version } from "../../web/src/version.js";
import { Connection } from "../../web/src/worker/connection.js";
import type { ChannelEvents } from "../../web/src/worker/channel.js";
import type { EngineOptions, Request } from "../../web/src/worker/protocol.js";

/** A worker that says what the test says. */
function fakeWorker() {
  const posted: Request[] = [];
  const seen = { alive: false, terminated: 0 };
  let events!: ChannelEvents;
  const connection = new Connection((given) => {
    events = given;
    return {
      post: (request) => void posted.push(request),
      keepAlive: (alive) => void (seen.alive = alive),
      terminate: () => void ++seen.terminated,
    };
  }, undefined);
  return { connection, posted, seen, events };
}

const options = {} as EngineOptions;
const reasonOf = (call: Promise<unknown>) => call.catch((reason: unknown) => reason);

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test("a worker of another version is refused and ended", async () => {
  const { connection, events, seen } = fakeWorker();
  const opening = reasonOf(connection.open("createAttention", options));
  events.reply({ kind: "ready", version: "0.0.1", lock: undefined });
  const error = await opening;
  expect(error).toMatchObject({ name: "AssetError", code: "ASSET_VERSION" });
  expect(String(error)).toMatch(/worker is of version 0\.0\.1, this is /);
  expect(seen.terminated).toBe(1);
});

test("a worker that never starts is given up after 30 s, one that loads for long is not", async () => {
  const silent = fakeWorker();
  const opening = reasonOf(silent.connection.open("createAttention", options));
  const loading = fakeWorker();
  let isSettled = false;
  void loading.connection.open("createAttention", options).finally(() => (isSettled = true));
  loading.events.reply({ kind: "ready", version, lock: undefined });
  await jest.advanceTimersByTimeAsync(30_000);
  expect(await opening).toMatchObject({ name: "AssetError", code: "ASSET_TIMEOUT" });
  expect(isSettled).toBe(false);
});

test("a worker whose script cannot be loaded is an AssetError that says where to look", async () => {
  const { connection, events } = fakeWorker();
  const opening = reasonOf(connection.open("createAttention", options));
  events.lost("http://localhost/worker-entry.js could not be loaded");
  expect(await opening).toMatchObject({
    code: "ASSET_BLOCKED",
    message: expect.stringMatching(/did not start: http:\/\/localhost\/worker-entry\.js/),
    hint: expect.stringMatching(/worker-entry\.js is served beside/),
  });
});

test("the process is kept alive while a call is pending, and not a moment longer", async () => {
  const { connection, events, posted, seen } = fakeWorker();
  events.reply({ kind: "ready", version, lock: undefined });
  const call = connection.call("save", 3, "save", "save");
  expect(seen.alive).toBe(true);
  events.reply({ kind: "done", id: posted[0]!.id, result: 1, made: undefined, news: [], kernelTimes: undefined });
  expect(await call).toMatchObject({ result: 1 });
  expect(seen.alive).toBe(false);
});

test("what is known of an object follows its news, is let go with it, and stays with who has it", async () => {
  const { connection, events, posted } = fakeWorker();
  events.reply({ kind: "ready", version, lock: undefined });
  const answer = (...news: { object: number; state: { bytes: number } }[]) =>
    events.reply({ kind: "done", id: posted.at(-1)!.id, result: 1, made: undefined, news, kernelTimes: undefined });
  const make = connection.call("createCache", 0, "createCache", {});
  answer({ object: 3, state: { bytes: 7 } });
  await make;
  const known = connection.known(3);
  expect(known.state).toEqual({ bytes: 7 });
  const append = connection.call("append", 3, "append", {});
  answer({ object: 3, state: { bytes: 8 } });
  await append;
  const release = connection.release(3);
  answer();
  await release;
  expect(known.state).toEqual({ bytes: 8 });
  expect(connection.known(3)).toBeUndefined();
});

test("only the first end counts, and replies that come after it do not", async () => {
  const { connection, events, posted, seen } = fakeWorker();
  events.reply({ kind: "ready", version, lock: undefined });
  const call = reasonOf(connection.call("attention", 0, "attention", {}));
  events.lost("exit code 1");
  events.lost("a second time");
  events.reply({ kind: "done", id: posted[0]!.id, result: 1, made: undefined, news: [], kernelTimes: undefined });
  expect(await call).toMatchObject({
    code: "WORKER_LOST",
    message: "attention: the engine's worker ended: exit code 1",
  });
  expect(await reasonOf(connection.call("later", 0, "attention", {}))).toMatchObject({ code: "WORKER_LOST" });
  expect(seen.terminated).toBe(1);
});
