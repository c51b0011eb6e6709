// The harness in Node: started by bench.mjs with its configuration as the first argument, reports by IPC.

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
process.exit(0); // the peers' threads would stay
