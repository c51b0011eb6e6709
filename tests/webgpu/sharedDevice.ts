import { runInThisContext } from "node:vm";

import { afterAll } from "@jest/globals";

import { watchPipelines } from "./faultyGpu.js";

/** The device that an instance opens for itself, or one without features and with the limits of WebGPU's standard. */
export type DeviceKind = "usual" | "plain";

/** What outlives a test file, because it belongs to the process and not to the globals that Jest gives to the file. */
interface Shared {
  readonly opening: Partial<Record<DeviceKind, Promise<GPUDevice>>>;
  readonly devices: Set<unknown>;
  /** What must not be collected: what the devices need, and their pipelines. */
  readonly held: object[];
}

const globals = runInThisContext("globalThis") as { headwiseShared?: Shared };
const fresh = () => runInThisContext("({ opening: {}, devices: new Set(), held: [] })") as Shared;
const shared = (globals.headwiseShared ??= fresh());

/**
 * A device that all test files of a process share, because a software adapter needs long to compile, and pipelines belong
 * to a device. Nobody destroys it or changes it: a test of what happens to a device opens its own.
 *
 * @param open - Opens the device, and tells what the device needs to live.
 */
export function sharedDevice(kind: DeviceKind, open: () => Promise<readonly [GPUDevice, needed: object]>) {
  const opened = async () => {
    const [device, needed] = await open();
    shared.devices.add(device);
    shared.held.push(needed);
    void device.lost.then(() => delete shared.opening[kind]); // so only one file fails
    return device;
  };
  return (shared.opening[kind] ??= opened());
}

/** Holds the pipelines of shared devices. Dawn finds an equal pipeline again only as long as somebody holds it. */
export function holdPipelines(): void {
  const restore = watchPipelines((compiling, device) => {
    if (shared.devices.has(device)) compiling.then((made) => shared.held.push(made), () => undefined); // oxfmt-ignore
  });
  afterAll(restore);
}
