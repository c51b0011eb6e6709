import type { ErrorCode } from "../base/errors.js";
import type { Reply, Request } from "./protocol.js";

/** A worker, as its client uses it. */
export interface Channel {
  post(request: Request, transfer: readonly ArrayBuffer[]): void;
  /** Whether the worker keeps the process alive, in runtimes where a worker can. */
  keepAlive(alive: boolean): void;
  terminate(): void;
}

/** Why a worker did not start: the parts of an error. */
export interface StartFailure {
  readonly reason: string;
  readonly code: ErrorCode;
  readonly hint: string;
  readonly cause: unknown;
}

export interface ChannelEvents {
  readonly reply: (reply: Reply) => void;
  /** The worker's script did not start. It may take time to find out why, but not for ever. */
  readonly unstarted: (failure: Promise<StartFailure>) => void;
  /** The worker has ended, or one of its messages cannot be read. */
  readonly lost: (reason: unknown) => void;
}

/** Starts a worker. */
export type Spawn = (events: ChannelEvents) => Channel;
