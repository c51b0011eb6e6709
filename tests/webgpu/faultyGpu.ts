// Changes WebGPU's own classes for a while: devices that are lost at a chosen moment, that run out of memory, and that
// are watched.

export type Method = (this: unknown, ...parameters: unknown[]) => unknown;

/** A method as it was, and what has been put around it since. */
interface Layers {
  readonly first: Method;
  readonly around: ((original: Method) => Method)[];
}

const replaced = new Map<object, Map<string, Layers>>();

/**
 * Replaces a method of a WebGPU class. Returns a function that takes the replacement away, whichever others came before or
 * after it: the classes outlive a test file, so what is left behind would change the next one.
 */
export function replace(prototype: object, name: string, make: (original: Method) => Method): () => void {
  const methods = prototype as Record<string, Method>;
  if (!replaced.has(prototype)) replaced.set(prototype, new Map());
  const ofPrototype = replaced.get(prototype)!;
  if (!ofPrototype.has(name)) ofPrototype.set(name, { first: methods[name]!, around: [] });
  const { first, around } = ofPrototype.get(name)!;
  const layer = (original: Method) => make(original);
  const apply = () => {
    methods[name] = around.reduce((inner, outer) => outer(inner), first);
  };
  around.push(layer);
  apply();
  return () => {
    const place = around.indexOf(layer);
    if (place < 0) return;
    around.splice(place, 1);
    apply();
  };
}

export const prototypeOf = (name: string): object =>
  (globalThis as unknown as Record<string, { readonly prototype: object }>)[name]!.prototype;

/** Tells each pipeline that is being compiled, and its device. Returns a function that ends it. */
export function watchPipelines(see: (compiling: Promise<GPUComputePipeline>, device: unknown) => void): () => void {
  return replace(
    prototypeOf("GPUDevice"),
    "createComputePipelineAsync",
    (original) =>
      function (...parameters) {
        const compiling = original.apply(this, parameters) as Promise<GPUComputePipeline>;
        see(compiling, this);
        return compiling;
      },
  );
}

/** The asynchronous steps of a device. */
export const STEPS = [
  ["GPUDevice", "popErrorScope"],
  ["GPUDevice", "createComputePipelineAsync"],
  ["GPUShaderModule", "getCompilationInfo"],
  ["GPUQueue", "onSubmittedWorkDone"],
  ["GPUBuffer", "mapAsync"],
] as const;

/** Watches all devices, and destroys the one in use at a chosen step: when the step begins, or when it ends. */
export class LosingGpu {
  /** Number of steps since the last `lose`. */
  taken = 0;
  #device: GPUDevice | undefined;
  #at = Infinity;
  #moment: "taken" | "done" = "taken";
  #fault: () => void = () => this.#device!.destroy();
  readonly #restore: (() => void)[];

  constructor() {
    // oxlint-disable-next-line typescript/no-this-alias -- the replaced methods have a `this` of their own
    const watch = this;
    const opening = replace(
      prototypeOf("GPUAdapter"),
      "requestDevice",
      (original) =>
        async function (...parameters) {
          return (watch.#device = (await original.apply(this, parameters)) as GPUDevice);
        },
    );
    const stepping = STEPS.map(([type, name]) =>
      replace(
        prototypeOf(type),
        name,
        (original) =>
          function (...parameters) {
            return watch.#step(() => original.apply(this, parameters) as Promise<unknown>);
          },
      ),
    );
    this.#restore = [opening, ...stepping];
  }

  /** Begins to count again. The device is lost at step `at`; by default never. */
  lose(at = Infinity, moment: "taken" | "done" = "taken"): void {
    this.taken = 0;
    this.#at = at;
    this.#moment = moment;
    this.#fault = () => this.#device!.destroy();
  }

  /** Begins to count again. Something else happens at step `at`. */
  at(at: number, fault: () => void): void {
    this.lose(at);
    this.#fault = fault;
  }

  restore(): void {
    for (const restore of this.#restore) restore();
  }

  async #step(take: () => Promise<unknown>): Promise<unknown> {
    this.taken += 1;
    const isLast = this.taken === this.#at;
    const result = take();
    if (isLast && this.#moment === "taken") this.#fault();
    try {
      return await result;
    } finally {
      if (isLast && this.#moment === "done") this.#fault();
    }
  }
}

/** The n-th buffer from now on, or all from it on, fail because of missing memory. As on a GPU, the error scope reports it. */
export class PoorGpu {
  /** Number of buffers made since the last `fail`. */
  made = 0;
  #at = Infinity;
  #last = Infinity;
  readonly #scopes: { readonly filter: unknown; error: unknown }[] = [];
  readonly #restore: (() => void)[];

  constructor() {
    // oxlint-disable-next-line typescript/no-this-alias -- the replaced methods have a `this` of their own
    const poor = this;
    const device = prototypeOf("GPUDevice");
    const OutOfMemory = (globalThis as unknown as { GPUOutOfMemoryError: new (message: string) => object })
      .GPUOutOfMemoryError;
    this.#restore = [
      replace(
        device,
        "pushErrorScope",
        (original) =>
          function (filter) {
            poor.#scopes.push({ filter, error: undefined });
            return original.call(this, filter);
          },
      ),
      replace(
        device,
        "popErrorScope",
        (original) =>
          async function () {
            const { error } = poor.#scopes.pop()!;
            return error ?? (await original.call(this));
          },
      ),
      replace(
        device,
        "createBuffer",
        (original) =>
          function (descriptor) {
            poor.made += 1;
            if (poor.made < poor.#at || poor.made > poor.#last) return original.call(this, descriptor);
            const scope = poor.#scopes.findLast(({ filter }) => filter === "out-of-memory");
            if (!scope) throw new Error("a buffer was made outside of every error scope");
            scope.error ??= new OutOfMemory("injected");
            return original.call(this, { ...(descriptor as object), usage: 0 }); // an unusable buffer
          },
      ),
    ];
  }

  /** Begins to count again. Buffer `at` fails; by default none. */
  fail(at = Infinity, how: "once" | "for good" = "once"): void {
    this.made = 0;
    this.#at = at;
    this.#last = how === "once" ? at : Infinity;
  }

  restore(): void {
    for (const restore of this.#restore) restore();
  }
}

/** Knows the buffers that are not destroyed, and counts compiled pipelines. */
export class WatchedGpu {
  readonly buffers = new Set<GPUBuffer>();
  compiled = 0;
  readonly #restore: (() => void)[];

  constructor() {
    // oxlint-disable-next-line typescript/no-this-alias -- the replaced methods have a `this` of their own
    const watch = this;
    this.#restore = [
      replace(
        prototypeOf("GPUDevice"),
        "createBuffer",
        (original) =>
          function (descriptor) {
            const buffer = original.call(this, descriptor) as GPUBuffer;
            watch.buffers.add(buffer);
            return buffer;
          },
      ),
      replace(
        prototypeOf("GPUBuffer"),
        "destroy",
        (original) =>
          function () {
            watch.buffers.delete(this as GPUBuffer);
            return original.call(this);
          },
      ),
      replace(
        prototypeOf("GPUDevice"),
        "createComputePipelineAsync",
        (original) =>
          function (descriptor) {
            watch.compiled += 1;
            return original.call(this, descriptor);
          },
      ),
    ];
  }

  restore(): void {
    for (const restore of this.#restore) restore();
  }
}
