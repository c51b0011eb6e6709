import type { GpuEngine } from "../engine/gpuModule.js";
import type { AdapterIdentity } from "./software.js";

/** Keeps texts between visits. */
export interface Store {
  read(key: string): Promise<unknown>;
  write(key: string, text: string): Promise<void>;
}

/** What a calibration needs from its surroundings. Tests give synthetic ones. */
export interface CalibrationHost {
  /** Who the GPU is, without opening it. A text: why there is none. */
  adapter(): Promise<AdapterIdentity | string>;
  /** Opens the GPU, or gives the one that is open. */
  open(): Promise<GpuEngine>;
  /** Settles when the thread has nothing better to do. */
  idle(): Promise<void>;
  /** A clock, in seconds. */
  seconds(): number;
  /** The step of that clock, in seconds. Absent: it is exact. */
  clockStep?(): number;
  /** Milliseconds since 1970. */
  date(): number;
  /** Absent: nothing is kept. */
  readonly store: Store | undefined;
  /** What a kept calibration must have been made with, beside the adapter: version, variant and threads. */
  readonly identity: string;
}
