// The harness in a browser: a module worker, which may block as Node may. The first message is its configuration.

import { run } from "./run.mjs";

const environment = {
  isNode: false,
  locate: (path) => new URL(path, `${self.location.origin}/`).href,
  read: async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer()),
};

self.onmessage = async ({ data }) => {
  try {
    await run(data, environment, (message) => self.postMessage(message));
    self.postMessage({ done: true });
  } catch (error) {
    self.postMessage({ error: String(error.stack) });
  }
};
