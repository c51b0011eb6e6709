// Watches the memory of all devices in Node, so that what a kernel reads without having written it shows in every test.

import { afterAll, expect } from "@jest/globals";

import { prototypeOf, replace, type Method } from "./faultyGpu.js";

/** Not a number as float32 and as float16, and far outside of every table as an index. */
const NAN_BITS = 0x7fc07fc0;
const MAP_READ = 0x1;

/**
 * The labels of buffers whose content counts for nothing when the package takes them; see src/webgpu/device/buffers.ts. The
 * numbers of kernels are not among them: some tests lose the command that writes them, and a kernel would then count to
 * two billion.
 */
const ANYTHING = /^headwise (scratch|result)$/;

/**
 * Fills buffers of the package with NaN: new ones of its pool, and each one that goes back there. So a result that a call
 * does not write, or a kernel that reads more than was written, becomes NaN.
 */
export function fillWithNan(): void {
  const { writeBuffer } = prototypeOf("GPUQueue") as { readonly writeBuffer: Method };
  const restore = replace(
    prototypeOf("GPUDevice"),
    "createBuffer",
    (original) =>
      function (this: unknown, ...parameters) {
        const [{ label = "" }] = parameters as [GPUBufferDescriptor];
        const buffer = original.apply(this, parameters) as GPUBuffer;
        if (ANYTHING.test(label)) watch(this as GPUDevice, buffer, label, writeBuffer);
        return buffer;
      },
  );
  afterAll(restore);
}

function watch({ queue }: GPUDevice, buffer: GPUBuffer, first: string, writeBuffer: Method): void {
  if ((buffer.usage & MAP_READ) !== 0) return;
  // Not by `queue.writeBuffer`, which some tests count or break.
  const fill = () => writeBuffer.call(queue, buffer, 0, nanWords(buffer.size));
  let label = first;
  Object.defineProperty(buffer, "label", {
    get: () => label,
    set: (given: string) => {
      label = given;
      if (label === "headwise idle") fill();
    },
  });
  fill();
}

let words = new Uint32Array(0);

function nanWords(bytes: number): Uint32Array<ArrayBuffer> {
  if (words.byteLength < bytes) words = new Uint32Array(bytes / 4).fill(NAN_BITS);
  return words.subarray(0, bytes / 4);
}

/**
 * Every binding of a storage array holds whole elements. Of the rest at its end, smaller than an element, a kernel would
 * read nothing, or something else.
 */
export function checkWholeElements(): void {
  const codes = new WeakMap<object, string>();
  const groupLayouts = new WeakMap<object, object>();
  const elements = new WeakMap<object, ReadonlyMap<number, number>>();
  const broken: string[] = [];
  const after = (name: string, note: (made: object, descriptor: never) => void) => {
    const restore = replace(
      prototypeOf("GPUDevice"),
      name,
      (original) =>
        function (this: unknown, ...parameters) {
          const made = original.apply(this, parameters) as object;
          note(made, parameters[0] as never);
          return made;
        },
    );
    afterAll(restore);
  };
  after("createShaderModule", (module, { code }: GPUShaderModuleDescriptor) => codes.set(module, code));
  after("createPipelineLayout", (made, { bindGroupLayouts: [layout] }: { bindGroupLayouts: object[] }) => {
    if (layout) groupLayouts.set(made, layout);
  });
  after("createComputePipelineAsync", (_, { layout, compute }: GPUComputePipelineDescriptor) => {
    const [code, group] = [codes.get(compute.module), groupLayouts.get(layout as object)];
    if (code && group) elements.set(group, elementBytes(code));
  });
  after("createBindGroup", (_, { layout, entries }: GPUBindGroupDescriptor) => {
    const bytesOf = elements.get(layout);
    for (const { binding, resource } of entries) {
      const { size, buffer } = resource as GPUBufferBinding;
      const bytes = bytesOf?.get(binding) ?? 4;
      if (size !== undefined && size % bytes !== 0)
        broken.push(`binding ${binding} of ${bytes} bytes an element: ${size} bytes of "${buffer.label}"`);
    }
  });
  afterAll(() => expect(broken).toEqual([]));
}

/** The bytes of an element, by the binding of its array. */
export function elementBytes(code: string): ReadonlyMap<number, number> {
  const aliases = new Map([...code.matchAll(/alias (\w+) = ([\w<>]+);/g)].map(([, name, type]) => [name!, type!]));
  const sizeOf = (type: string): number => {
    const known = aliases.get(type);
    if (known) return sizeOf(known);
    const [, count = "1", scalar] = /^(?:vec(\d)<)?(?:atomic<)?([uif]\d\d)/.exec(type) ?? [];
    return scalar ? (Number(count) * Number(scalar.slice(1))) / 8 : 4;
  };
  const arrays = code.matchAll(/@binding\((\d+)\) var<storage[^>]*> \w+: array<([\w<>]+)>;/g);
  return new Map([...arrays].map(([, binding, type]) => [Number(binding), sizeOf(type!)]));
}
