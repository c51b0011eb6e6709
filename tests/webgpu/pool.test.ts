import { describe, expect, test } from "@jest/globals";

import { BindGroups } from "../../web/src/webgpu/call/bindGroups.js";
import { Buffers } from "../../web/src/webgpu/device/buffers.js";
import { IterableWeakSet } from "../../web/src/webgpu/device/iterableWeakSet.js";
import { Numbers } from "../../web/src/webgpu/call/numbers.js";
import type { Compiled } from "../../web/src/webgpu/device/pipelines.js";

/** A device that only makes objects, and counts them. */
function fakeDevice() {
  const made = { buffers: 0, groups: 0, destroyed: 0 };
  const device = {
    limits: { maxBufferSize: 2 ** 30 },
    createBuffer: ({ size }: { size: number }) => {
      made.buffers += 1;
      return { size, destroy: () => (made.destroyed += 1) };
    },
    createBindGroup: () => ({ number: (made.groups += 1) }),
  };
  return { device: device as unknown as GPUDevice, made };
}

describe("the pool of buffers", () => {
  test("gives a repeated call the same buffers in the same order, whatever other calls took", () => {
    const buffers = new Buffers(fakeDevice().device);
    const take = (count: number) => Array.from({ length: count }, () => buffers.take("storage", 300));
    const first = take(3);
    first.forEach((buffer) => buffers.giveBack(buffer));
    for (const others of [1, 2, 1]) {
      take(others)
        .reverse()
        .forEach((buffer) => buffers.giveBack(buffer));
      const again = take(3);
      expect(again.map((buffer) => first.indexOf(buffer))).toEqual([0, 1, 2]);
      again.forEach((buffer) => buffers.giveBack(buffer));
    }
    expect(buffers.count).toBe(3);
  });

  test("gives results buffers of their exact size, and never those of scratch", () => {
    const buffers = new Buffers(fakeDevice().device);
    const scratch = buffers.take("storage", 256);
    buffers.giveBack(scratch);
    const result = buffers.take("result", 256);
    expect([result === scratch, result.size, buffers.take("result", 6).size]).toEqual([false, 256, 16]);
  });

  test("keeps at most 256 MiB of idle buffers, and destroys what comes back after its end", () => {
    const { device, made } = fakeDevice();
    const dropped: GPUBuffer[] = [];
    const buffers = new Buffers(device, (buffer) => dropped.push(buffer));
    const large = Array.from({ length: 5 }, () => buffers.take("storage", 2 ** 26));
    const late = buffers.take("result", 64);
    buffers.handOver(late);
    large.forEach((buffer) => buffers.giveBack(buffer));
    expect([buffers.idleBytes, made.destroyed]).toEqual([2 ** 28, 1]);
    expect(dropped).toEqual([large[0]]);
    buffers.destroy();
    expect(made.destroyed).toBe(5);
    buffers.giveBack(late);
    expect([made.destroyed, buffers.idleBytes]).toEqual([6, 0]);
  });

  test("lists a buffer once, however often it comes back", () => {
    const set = new IterableWeakSet<object>();
    const value = {};
    for (let n = 0; n < 3; ++n) set.add(value);
    expect(set.values()).toEqual([value]);
    set.delete(value);
    expect(set.values()).toEqual([]);
  });
});

describe("bind groups", () => {
  const pipeline = (id: number) => ({ id }) as Compiled;
  const open = () => {
    const { device, made } = fakeDevice();
    const [a, b] = [1, 2].map((size) => device.createBuffer({ size, usage: 0 })) as [GPUBuffer, GPUBuffer];
    return { groups: new BindGroups(device), made, a, b };
  };
  const bind = (buffer: GPUBuffer, offset = 0) => [{ binding: 0, span: { buffer, offset, bytes: 16 } }];

  test("are made once for a pipeline, buffers and ranges", () => {
    const { groups, made, a, b } = open();
    const all = () => [
      groups.of(pipeline(1), bind(a)),
      groups.of(pipeline(2), bind(a)),
      groups.of(pipeline(1), bind(b)),
      groups.of(pipeline(1), bind(a, 256)),
    ];
    expect(all()).toEqual(all());
    expect(made.groups).toBe(4);
  });

  test("are forgotten with a buffer, and if they were not used for long", () => {
    const { groups, made, a, b } = open();
    groups.of(pipeline(1), bind(a));
    groups.of(pipeline(1), bind(b));
    groups.drop(a);
    groups.of(pipeline(1), bind(b));
    expect(made.groups).toBe(2);
    groups.of(pipeline(1), bind(a));
    for (let offset = 1; offset < 3000; ++offset) {
      groups.of(pipeline(1), bind(b, 256 * offset));
      groups.of(pipeline(1), bind(a)); // is used all the time
    }
    const before = made.groups;
    groups.of(pipeline(1), bind(a));
    expect(made.groups).toBe(before);
    groups.of(pipeline(1), bind(b, 256));
    expect(made.groups).toBe(before + 1);
  });

  test("are kept if they are used all the time, also where they are found because they follow another one", () => {
    const { groups, made, a, b } = open();
    const others = 5000;
    for (let n = 0; n < others; ++n) {
      groups.of(pipeline(1), bind(a));
      groups.of(pipeline(2), bind(a)); // follows the other one each time
      groups.of(pipeline(1), bind(b, 256 * n));
    }
    expect(made.groups).toBe(2 + others);
  });
});

test("the numbers of a call begin at multiples of 256 bytes, and are written at once", () => {
  const numbers = new Numbers();
  const spans = [Uint32Array.of(1, 2), new Uint8Array(300).fill(7), Float32Array.of(3)].map((data) =>
    numbers.add(data),
  );
  expect(spans.map(({ offset, bytes }) => [offset, bytes])).toEqual([
    [0, 16],
    [256, 300],
    [768, 16],
  ]);
  const buffer = {} as GPUBuffer;
  numbers.lieIn(buffer);
  expect(spans.every((span) => span.buffer === buffer)).toBe(true);
  const written: Uint8Array[] = [];
  numbers.write({ writeBuffer: (_: unknown, at: number, data: Uint8Array) => written.push(data.slice(at)) } as never);
  expect(written.map((data) => [data.length, data[0], data[256], data[768]])).toEqual([[784, 1, 7, 0]]);
});
