import type { ProofProgress, ProofRecord } from "../../../../tests/bench/proof/core.mjs";
import { moduleWorker } from "./moduleWorker.js";
import type { ProofReply, ProofRequest } from "./proofProtocol.js";
import worker from "./proofWorker.js?worker&url";
import { t } from "../../texts/t.js";

/** A proof that runs in a worker of its own. */
export class Proof {
  /** Resolves also if the proof is cancelled: then not all cases have run. Rejects if it cannot go on. */
  readonly record: Promise<ProofRecord>;
  readonly #worker = moduleWorker(worker);
  #fail!: (error: Error) => void;

  constructor(options: Omit<Extract<ProofRequest, { kind: "begin" }>, "kind">, onProgress: (p: ProofProgress) => void) {
    this.record = new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#worker.onmessage = ({ data }: MessageEvent<ProofReply>) => {
        if (data.kind === "progress") onProgress(data.progress);
        else if (data.kind === "record") resolve(data.record);
        else reject(new Error(data.message));
      };
      this.#worker.onerror = (event) => reject(new Error(event.message || t`the worker could not be loaded`));
    });
    this.#say({ kind: "begin", ...options });
  }

  /** Ends the proof after the case that runs. */
  cancel(): void {
    this.#say({ kind: "cancel" });
  }

  /** Ends the worker at once. */
  close(): void {
    this.#worker.terminate();
    this.#fail(new Error(t`it was closed`));
  }

  #say(request: ProofRequest): void {
    this.#worker.postMessage(request);
  }
}
