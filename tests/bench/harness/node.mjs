// The harness in Node. bench.mjs starts it with its configuration as the first argument; it reports by IPC.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { run } from "./run.mjs";

const root = new URL("../../../", import.meta.url);

const environment = {
  isNode: true,
  locate: (path) => new URL(path, root).href,
  read: async (url) => new Uint8Array(await readFile(fileURLToPath(url))),
};

const send = (message) => new Promise((resolve) => process.send(message, resolve));
const messages = [];

await run(JSON.parse(process.argv[2]), environment, (message) => messages.push(send(message)));
await Promise.all(messages);
process.exit(0); // otherwise the peers' threads would keep the process alive
