/** Opens a device with all of the adapter's features that headwise uses, as headwise itself does. */
export async function openDevice() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("this browser offers no WebGPU adapter");
  const { limits } = adapter;
  const device = await adapter.requestDevice({
    requiredFeatures: ["shader-f16", "subgroups", "timestamp-query"].filter((name) => adapter.features.has(name)),
    requiredLimits: {
      maxBufferSize: limits.maxBufferSize,
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
      maxComputeInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
      maxComputeWorkgroupSizeX: limits.maxComputeWorkgroupSizeX,
      maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
    },
  });
  return { device, info: adapter.info };
}

/** Copies an array to a buffer of a device. */
export function upload(device, data) {
  const buffer = device.createBuffer({
    size: Math.max(16, Math.ceil(data.byteLength / 4) * 4),
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
  });
  device.queue.writeBuffer(buffer, 0, data);
  return buffer;
}

/** Converts numbers to float16, which must hold them exactly. */
export function toHalves(numbers) {
  return new Uint16Array(Float16Array.from(numbers).buffer);
}

export function fromHalves(words) {
  return Float32Array.from(new Float16Array(words.buffer, words.byteOffset, words.length));
}
