// WebGPU with a fault at a chosen call of its interface. It also knows what lives on the devices.

import { prototypeOf, replace } from "./faultyGpu.js";

/**
 * What a call does instead:
 * - `throws`: it throws, and has no effect.
 * - `rejects`: the promise that it returns rejects.
 * - `validation`, `out-of-memory`: an error scope gets such an error. The object that the call makes is unusable; if it makes
 *   none, it has no effect.
 * - `lost`: before the call the device is lost.
 */
export const FAULTS = ["throws", "rejects", "validation", "out-of-memory", "lost"] as const;
export type Fault = (typeof FAULTS)[number];

/** The calls of an adapter and its devices that can fail, by class. `destroy` cannot. */
const CALLS = {
  GPU: ["requestAdapter"],
  GPUAdapter: ["requestDevice"],
  GPUDevice: [
    "createBuffer",
    "createBindGroupLayout",
    "createPipelineLayout",
    "createShaderModule",
    "createBindGroup",
    "createComputePipelineAsync",
    "createCommandEncoder",
    "createQuerySet",
    "pushErrorScope",
    "popErrorScope",
  ],
  GPUQueue: ["writeBuffer", "submit", "onSubmittedWorkDone"],
  GPUBuffer: ["mapAsync", "getMappedRange", "unmap"],
  GPUShaderModule: ["getCompilationInfo"],
  GPUCommandEncoder: ["beginComputePass", "clearBuffer", "copyBufferToBuffer", "resolveQuerySet", "finish"],
  GPUComputePassEncoder: ["setPipeline", "setBindGroup", "dispatchWorkgroups", "end"],
} as const;

const PROMISES: ReadonlySet<string> = new Set([
  "requestAdapter",
  "requestDevice",
  "createComputePipelineAsync",
  "popErrorScope",
  "onSubmittedWorkDone",
  "mapAsync",
  "getCompilationInfo",
]);

/** The arguments with which a call that makes an object makes an unusable one. */
const UNUSABLE: Readonly<Record<string, (descriptor: never, device: GPUDevice) => object>> = {
  createBuffer: (descriptor: GPUBufferDescriptor) => ({ ...descriptor, usage: 0 }),
  createBindGroupLayout: ({ entries }: GPUBindGroupLayoutDescriptor) => ({ entries: [...entries, ...entries] }),
  createPipelineLayout: (_, device) => ({
    bindGroupLayouts: Array.from({ length: 99 }, () => device.createBindGroupLayout({ entries: [] })),
  }),
  createShaderModule: () => ({ code: "this is not WGSL" }),
  createBindGroup: (descriptor: GPUBindGroupDescriptor) => ({ ...descriptor, entries: [] }),
  createQuerySet: () => ({ type: "timestamp", count: 1e6 }),
};

/** The other calls that raise an error in a scope. A recording call raises it where its encoder is finished. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(["writeBuffer", "submit"]);
const RECORDING: ReadonlySet<string> = new Set([...CALLS.GPUCommandEncoder, ...CALLS.GPUComputePassEncoder]);

/** Whether a call can fail so. */
export function canFail(name: string, fault: Fault): boolean {
  switch (fault) {
    case "throws":
    case "lost":
      return true;
    case "rejects":
      return PROMISES.has(name);
    case "validation":
      return name in UNUSABLE || WITHOUT_EFFECT.has(name) || RECORDING.has(name);
    case "out-of-memory":
      return name in UNUSABLE || WITHOUT_EFFECT.has(name);
  }
}

let isCaller = false;

/** Runs calls of the test's own, which do not fail and are not counted. */
export function asCaller<T>(work: () => T): T {
  isCaller = true;
  try {
    return work();
  } finally {
    isCaller = false;
  }
}

interface Scope {
  readonly filter: unknown;
  error: unknown;
}

type Method = (this: unknown, ...parameters: unknown[]) => unknown;
type GpuErrors = Record<"GPUOutOfMemoryError", new (message: string) => object>;

/** Counts calls, fails at one of them, and knows what is left on the devices. */
export class BrokenGpu {
  /** The names of the calls since the last `breakAt`. */
  readonly calls: string[] = [];
  /** Errors that no error scope has caught. */
  readonly uncaught: string[] = [];
  readonly #devices = new Set<GPUDevice>();
  readonly #buffers = new Map<GPUBuffer, GPUDevice>();
  readonly #scopes = new Map<GPUDevice, Scope[]>();
  readonly #deviceOf = new WeakMap<object, GPUDevice>();
  readonly #ofCaller = new WeakSet();
  readonly #restores: (() => void)[] = [];
  #at = Infinity;
  #fault: Fault | (() => void) = "throws";
  #allThrow = false;

  constructor() {
    for (const [type, names] of Object.entries(CALLS)) for (const name of names) this.#instrument(type, name);
    const forget = (kept: { delete(value: never): unknown }) => (original: Method) =>
      function (this: unknown) {
        kept.delete(this as never);
        return original.call(this);
      };
    this.#restores.push(
      replace(prototypeOf("GPUBuffer"), "destroy", forget(this.#buffers)),
      replace(prototypeOf("GPUDevice"), "destroy", forget(this.#devices)),
    );
  }

  /** Begins to count again. Call number `at`, from 1 on, fails; by default none does. */
  breakAt(at = Infinity, fault: Fault | (() => void) = "throws"): void {
    this.calls.length = 0;
    this.#at = at;
    this.#fault = fault;
    this.#allThrow = false;
  }

  /** Every call throws, until `breakAt`. */
  throwFromNowOn(): void {
    this.#allThrow = true;
  }

  /** What lives: devices, their buffers by size, and error scopes that nobody has popped. */
  get live(): { readonly devices: number; readonly buffers: readonly number[]; readonly scopes: number } {
    const buffers = [...this.#buffers].filter(([, device]) => this.#devices.has(device)).map(([{ size }]) => size);
    const scopes = [...this.#devices].reduce((sum, device) => sum + (this.#scopes.get(device)?.length ?? 0), 0);
    return { devices: this.#devices.size, buffers: buffers.sort((a, b) => a - b), scopes };
  }

  /** Loses every device, as a driver does. */
  lose(): void {
    for (const device of [...this.#devices]) device.destroy();
  }

  restore(): void {
    for (const restore of this.#restores.splice(0)) restore();
  }

  #instrument(type: string, name: string): void {
    // oxlint-disable-next-line typescript/no-this-alias -- the replaced methods have a `this` of their own
    const gpu = this;
    const made = replace(
      prototypeOf(type),
      name,
      (original) =>
        function (...parameters) {
          return gpu.#called(this as object, name, parameters, (...given) => original.apply(this, given));
        },
    );
    this.#restores.push(made);
  }

  #called(target: object, name: string, parameters: unknown[], original: (...given: unknown[]) => unknown): unknown {
    const owned = isCaller || this.#ofCaller.has(target);
    if (!owned) this.calls.push(name);
    const isBroken = !owned && this.calls.length === this.#at;
    if (isBroken && typeof this.#fault === "function") this.#fault();
    const broken = isBroken && typeof this.#fault === "string" && canFail(name, this.#fault) ? this.#fault : undefined;
    const fault = this.#allThrow && !owned ? "throws" : broken;
    const result = this.#failing(fault, target, name, parameters, original);
    if (typeof result === "object" && result !== null) {
      if (owned) this.#ofCaller.add(result);
      this.#know(target, name, result);
    }
    return result;
  }

  #failing(
    fault: Fault | undefined,
    target: object,
    name: string,
    parameters: unknown[],
    original: (...given: unknown[]) => unknown,
  ): unknown {
    const device = this.#device(target);
    if (fault === "throws") {
      // the scope must go, or the scopes around it would be popped in its place
      if (name === "popErrorScope") this.#popped(device!, original).catch(() => undefined);
      throw new Error("injected: the call throws");
    }
    if (fault === "rejects") {
      const given = name === "popErrorScope" ? this.#popped(device!, original) : undefined;
      return Promise.resolve(given).then(() => {
        throw new Error("injected: the promise rejects");
      });
    }
    if (fault === "lost") device?.destroy();
    if (fault === "out-of-memory") this.#raise(device!);
    if (fault === "validation" || fault === "out-of-memory") return this.#unusable(target, name, parameters, original);
    if (name === "pushErrorScope") this.#scopes.get(device!)?.push({ filter: parameters[0], error: undefined });
    return name === "popErrorScope" ? this.#popped(device!, original) : original(...parameters);
  }

  #unusable(target: object, name: string, parameters: unknown[], original: (...given: unknown[]) => unknown): unknown {
    const device = this.#device(target)!;
    if (name in UNUSABLE) return original(asCaller(() => UNUSABLE[name]!(parameters[0] as never, device)));
    if (WITHOUT_EFFECT.has(name)) {
      asCaller(() => device.createBuffer({ size: 4, usage: 0 }).destroy()); // only its error is wanted
      return undefined;
    }
    (target as GPUCommandEncoder).pushDebugGroup("injected"); // nobody pops it
    return original(...parameters);
  }

  /** Tells the innermost scope that wants it about an error. */
  #raise(device: GPUDevice): void {
    const scope = this.#scopes.get(device)?.findLast(({ filter }) => filter === "out-of-memory");
    const { GPUOutOfMemoryError } = globalThis as unknown as GpuErrors;
    if (scope) scope.error ??= new GPUOutOfMemoryError("injected");
    else this.uncaught.push("injected: out of memory");
  }

  async #popped(device: GPUDevice, original: () => unknown): Promise<unknown> {
    const scope = this.#scopes.get(device)?.pop();
    const found = await original();
    return scope?.error ?? found;
  }

  #device(target: object): GPUDevice | undefined {
    return this.#devices.has(target as GPUDevice) ? (target as GPUDevice) : this.#deviceOf.get(target);
  }

  #know(target: object, name: string, result: object): void {
    if (name === "requestDevice") void (result as Promise<GPUDevice>).then((device) => this.#follow(device)).catch(() => undefined); // oxfmt-ignore
    const device = this.#device(target);
    if (!device) return;
    this.#deviceOf.set(result, device);
    if (name === "createBuffer") this.#buffers.set(result as GPUBuffer, device);
  }

  #follow(device: GPUDevice): void {
    this.#devices.add(device);
    this.#scopes.set(device, []);
    this.#deviceOf.set(device.queue, device);
    device.addEventListener("uncapturederror", ({ error }) => this.uncaught.push(error.message));
    void device.lost.then(() => this.#devices.delete(device));
  }
}
