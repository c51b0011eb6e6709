// The script of the worker that headwise/worker starts in Node.

import { parentPort } from "node:worker_threads";

import { nodeHost } from "../wasm/nodeHost.js";
import type { Request } from "./protocol.js";
import { serve } from "./serve.js";

const port = parentPort!;
const answer = serve(nodeHost, (reply, transfer = []) => port.postMessage(reply, transfer));
port.on("message", (request: Request) => void answer(request));
port.postMessage({ kind: "ready", lock: undefined });
