// The script of the worker that headwise/worker starts in Node.

import { parentPort } from "node:worker_threads";

import { version } from "../engine/version.js";
import { enginesHere } from "../instance/enginesHere.js";
import { nodeHost } from "../load/nodeHost.js";
import type { Reply, Request } from "./protocol.js";
import { serve } from "./serve.js";

const port = parentPort!;
const send = (reply: Reply, transfer: ArrayBuffer[] = []) => port.postMessage(reply, transfer);
const answer = serve({ hostOf: nodeHost, codeOf: () => enginesHere }, send);
port.on("message", (request: Request) => void answer(request));
send({ kind: "ready", version, lock: undefined });
