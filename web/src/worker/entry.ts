// The script of the worker that headwise/worker starts in a browser.

import { version } from "../engine/version.js";
import { browserHost } from "../load/browserHost.js";
import { engineCode } from "./engineCode.js";
import type { Reply, Request } from "./protocol.js";
import { serve } from "./serve.js";

// The worker's global scope. The package is checked with the types of a page, which do not have these members.
const scope = globalThis as unknown as {
  postMessage(reply: Reply, transfer: ArrayBuffer[]): void;
  onmessage: (event: { readonly data: Request }) => void;
  readonly trustedTypes?: {
    createPolicy(name: string, rules: { readonly createScriptURL: (address: string) => string }): void;
  };
};

allowThreads();
const send = (reply: Reply, transfer: ArrayBuffer[] = []) => scope.postMessage(reply, transfer);
const answer = serve({ hostOf: browserHost, codeOf: engineCode }, send);
scope.onmessage = ({ data }) => void answer(data);
void holdLock().then((lock) => send({ kind: "ready", version, lock }));

/**
 * Takes a lock and holds it as long as this worker lives, so that the page notices the worker's end. Returns the lock's
 * name, or undefined if there are no locks.
 */
async function holdLock(): Promise<string | undefined> {
  const locks = navigator.locks as LockManager | undefined;
  if (!locks) return undefined;
  const name = `headwise-worker-${crypto.randomUUID()}`;
  return new Promise((resolve) => {
    const hold = () => {
      resolve(name);
      return new Promise(() => undefined);
    };
    locks.request(name, hold).catch(() => resolve(undefined)); // opaque origins have no locks
  });
}

/**
 * If this script is served with the policy `require-trusted-types-for 'script'`, the policy also applies to the workers
 * that the script starts: the engine's threads. The page has allowed this worker by its own default policy.
 */
function allowThreads(): void {
  try {
    scope.trustedTypes?.createPolicy("default", { createScriptURL: (address) => address });
  } catch {
    // The page forbids a policy of this name. With more than one thread the engine then reports that it cannot start.
  }
}
