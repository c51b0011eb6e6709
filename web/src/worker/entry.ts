// The script of the worker that headwise/worker starts in a browser.

import { version } from "../engine/version.js";
import { browserHost } from "../wasm/browserHost.js";
import type { Reply, Request } from "./protocol.js";
import { serve } from "./serve.js";

// What a worker's global scope has; the page's types that the package is checked with do not know it.
const scope = globalThis as unknown as {
  postMessage(reply: Reply, transfer: ArrayBuffer[]): void;
  onmessage: (event: { readonly data: Request }) => void;
  readonly trustedTypes?: {
    createPolicy(name: string, rules: { readonly createScriptURL: (address: string) => string }): void;
  };
};

allowThreads();
const send = (reply: Reply, transfer: ArrayBuffer[] = []) => scope.postMessage(reply, transfer);
const answer = serve(browserHost, send);
scope.onmessage = ({ data }) => void answer(data);
void holdLock().then((lock) => send({ kind: "ready", version, lock }));

/** Takes a lock for as long as this worker lives: how others learn of its end. Its name, where there are locks. */
async function holdLock(): Promise<string | undefined> {
  const locks = navigator.locks as LockManager | undefined;
  if (!locks) return undefined;
  const name = `headwise-worker-${crypto.randomUUID()}`;
  return new Promise((resolve) => {
    const hold = () => {
      resolve(name);
      return new Promise(() => undefined);
    };
    locks.request(name, hold).catch(() => resolve(undefined)); // origins of their own kind have none
  });
}

/**
 * A policy `require-trusted-types-for 'script'` that comes with this script holds for the workers that it starts: the
 * engine's threads. The page has its own default policy, by which it allowed this worker.
 */
function allowThreads(): void {
  try {
    scope.trustedTypes?.createPolicy("default", { createScriptURL: (address) => address });
  } catch {
    // The page allows no policy of this name: with more than one thread the engine says that it could not start.
  }
}
