import type { Reply, Request } from "./protocol.js";

/** A worker, as the client needs it. */
export interface Channel {
  post(request: Request, transfer: readonly ArrayBuffer[]): void;
  /** Whether the worker keeps the process alive, where there is such a thing. */
  keepAlive(alive: boolean): void;
  terminate(): void;
}

export interface ChannelEvents {
  readonly reply: (reply: Reply) => void;
  /** The worker is gone, or cannot be understood. */
  readonly lost: (reason: unknown) => void;
}

/** Starts a worker. */
export type Spawn = (events: ChannelEvents) => Channel;
