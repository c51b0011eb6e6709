// The best rates of a shader on this device: multiply-adds in registers, the same with float16 operands and float32
// sums, and copying.

const THREADS = 256;
const WORKGROUPS = 1024;
/** Different sums of an invocation: they hide the latency of a multiply-add. */
const SUMS = 16;
/** Multiply-adds of each sum in a step of the loop: so the loop itself takes little. */
const REPEATS = 4;
const LONG_ENOUGH = 5; // milliseconds

const names = Array.from({ length: SUMS }, (_, k) => `sum${k}`);
const each = (line) => names.map(line).join(" ");

export const multiplyAdds = (type) => `
${type === "f16" ? "enable f16;" : ""}
@group(0) @binding(0) var<uniform> steps: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> sink: array<vec4<f32>>;
@compute @workgroup_size(${THREADS})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var a = ${type}(id.x % 7u) * ${type}(0.01);
  let b = ${type}(id.x % 5u) * ${type}(0.01) + ${type}(0.9);
  ${each((name, k) => `var ${name} = ${k}.0f;`)}
  for (var n = 0u; n < steps.x; n++) {
    ${Array.from({ length: REPEATS }, () => each((name) => `${name} = fma(${name}, f32(b), f32(a));`)).join("\n    ")}
    a = -a;
  }
  var sum = 0.0f;
  ${each((name) => `sum += ${name};`)}
  if (sum == 12345.0) { sink[id.x % 64u] = vec4<f32>(sum); }
}`;

const COPY = `
@group(0) @binding(0) var<uniform> steps: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> to: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> source: array<vec4<f32>>;
@compute @workgroup_size(${THREADS})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  for (var n = id.x; n < steps.x; n += ${THREADS * WORKGROUPS}u) { to[n] = source[n]; }
}`;

/** Operations or bytes per second. `f16` is absent on a device without shader-f16. */
export async function probe(device) {
  const perStep = 2 * REPEATS * SUMS * THREADS * WORKGROUPS;
  const sums = (type) => rateOf(device, multiplyAdds(type), perStep, { least: 1, most: 2 ** 24, sizes: [1024] });
  const bytes = Math.min(2 ** 28, device.limits.maxBufferSize, device.limits.maxStorageBufferBindingSize);
  return {
    f32: await sums("f32"),
    f16: device.features.has("shader-f16") ? await sums("f16") : undefined,
    copy: await rateOf(device, COPY, 32, { least: 2 ** 16, most: bytes / 16, sizes: [bytes, bytes] }),
  };
}

/** Doubles the steps until a pass is long enough, then takes the best of five passes. */
async function rateOf(device, code, perStep, { least, most, sizes }) {
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
  const buffers = sizes.map((size) => device.createBuffer({ size, usage: GPUBufferUsage.STORAGE }));
  let steps = least;
  let milliseconds = await runPass(device, pipeline, buffers, steps);
  while (milliseconds < LONG_ENOUGH && steps < most) {
    steps = Math.min(2 * steps, most);
    milliseconds = await runPass(device, pipeline, buffers, steps);
  }
  for (let n = 0; n < 4; n++) milliseconds = Math.min(milliseconds, await runPass(device, pipeline, buffers, steps));
  for (const buffer of buffers) buffer.destroy();
  return (steps * perStep) / milliseconds / 1e-3;
}

/** Milliseconds of one pass, measured with timestamps if the device has them. */
async function runPass(device, pipeline, buffers, steps) {
  const uniform = device.createBuffer({ size: 16, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
  device.queue.writeBuffer(uniform, 0, Uint32Array.of(steps, 0, 0, 0));
  const entries = [uniform, ...buffers].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const encoder = device.createCommandEncoder();
  const clock = device.features.has("timestamp-query") ? timestamps(device) : undefined;
  const pass = encoder.beginComputePass(clock?.writes);
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(WORKGROUPS);
  pass.end();
  clock?.resolve(encoder);
  const start = performance.now();
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
  return clock ? clock.read() : performance.now() - start;
}

function timestamps(device) {
  const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
  const resolved = device.createBuffer({ size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
  const readable = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  return {
    writes: { timestampWrites: { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 } },
    resolve(encoder) {
      encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
      encoder.copyBufferToBuffer(resolved, 0, readable, 0, 16);
    },
    async read() {
      await readable.mapAsync(GPUMapMode.READ);
      const [begin, end] = new BigUint64Array(readable.getMappedRange().slice(0));
      for (const resource of [querySet, resolved, readable]) resource.destroy();
      return Number(end - begin) / 1e6;
    },
  };
}
