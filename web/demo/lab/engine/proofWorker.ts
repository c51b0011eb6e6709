import { createAttention } from "headwise";

import { prove } from "../../../../tests/bench/proof/core.mjs";
import table from "../../../../tests/cases/attention.json";
import type { ProofReply, ProofRequest } from "./proofProtocol.js";

/** The part of a worker's global scope that is used here. TypeScript's DOM types describe a window. */
interface WorkerScope {
  postMessage(message: ProofReply): void;
  onmessage: ((event: MessageEvent<ProofRequest>) => void) | null;
}

const scope = self as unknown as WorkerScope;
const cancelling = new AbortController();

scope.onmessage = ({ data }) => {
  if (data.kind === "cancel") cancelling.abort();
  else void begin(data);
};

async function begin({ quick, seconds, name }: Extract<ProofRequest, { kind: "begin" }>): Promise<void> {
  try {
    const record = await prove({
      gpu: "gpu" in navigator ? navigator.gpu : undefined,
      createAttention,
      table,
      host: { name: `the lab in ${name}`, cpu: "", cores: navigator.hardwareConcurrency },
      ...{ quick, seconds, signal: cancelling.signal },
      missingPeers: { ort: "the lab has no other library" },
      report: (progress) => scope.postMessage({ kind: "progress", progress }),
    });
    scope.postMessage({ kind: "record", record });
  } catch (error) {
    scope.postMessage({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
}
