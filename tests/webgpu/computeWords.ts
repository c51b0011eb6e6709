/**
 * Computes a WGSL expression for each pair of words (x, y) of an input.
 *
 * @param text - The functions that the expression calls.
 */
export async function computeWords(
  device: GPUDevice,
  text: string,
  expression: string,
  input: Uint32Array,
  count: number,
): Promise<Uint32Array> {
  const code = `${text}
@group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> results: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let n = id.y * 65536u + id.x;
  if (n >= ${count}u) { return; }
  let x = pairs[n].x;
  let y = pairs[n].y;
  results[n] = ${expression};
}`;
  const pipeline = await device.createComputePipelineAsync({
    layout: "auto",
    compute: { module: device.createShaderModule({ code }), entryPoint: "main" },
  });
  const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
  const buffer = (size: number, usage: number) => device.createBuffer({ size, usage });
  const [given, found, read] = [
    buffer(input.byteLength, STORAGE | COPY_DST),
    buffer(4 * count, STORAGE | COPY_SRC),
    buffer(4 * count, MAP_READ | COPY_DST),
  ];
  device.queue.writeBuffer(given, 0, input as Uint32Array<ArrayBuffer>);
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  const entries = [given, found].map((each, binding) => ({ binding, resource: { buffer: each } }));
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(Math.min(1024, Math.ceil(count / 64)), Math.ceil(count / 65536));
  pass.end();
  encoder.copyBufferToBuffer(found, 0, read, 0, 4 * count);
  device.queue.submit([encoder.finish()]);
  await read.mapAsync(GPUMapMode.READ);
  const words = new Uint32Array(read.getMappedRange().slice(0));
  for (const each of [given, found, read]) each.destroy();
  return words;
}
