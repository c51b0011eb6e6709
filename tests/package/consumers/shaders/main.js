/**
 * Compiles the shaders of shaders.json to pipelines, as the package does. Leaves in `outcome`, for the test to fetch, how many
 * compiled, what kept others from it, and the features that the device lacks.
 */
globalThis.outcome = compileAll().catch(({ name, message }) => ({ code: name, message }));

async function compileAll() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return { code: "UNSUPPORTED" };
  const shaders = await (await fetch("./shaders.json")).json();
  const needed = [...new Set(shaders.flatMap(({ features }) => features))];
  const requiredFeatures = needed.filter((name) => adapter.features.has(name));
  const { maxComputeWorkgroupStorageSize, maxStorageBuffersPerShaderStage } = adapter.limits;
  const requiredLimits = { maxComputeWorkgroupStorageSize, maxStorageBuffersPerShaderStage };
  const device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
  const possible = shaders.filter(({ features }) => features.every((name) => requiredFeatures.includes(name)));
  const failures = [];
  for (const shader of possible) {
    const failure = await failureOf(device, shader);
    if (failure !== undefined) failures.push({ name: shader.name, failure });
  }
  device.destroy();
  return {
    compiled: possible.length - failures.length,
    failures,
    missing: needed.filter((name) => !requiredFeatures.includes(name)),
  };
}

/** Why a shader does not become a pipeline; undefined if it does. */
async function failureOf(device, { name, code, bindings }) {
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ label: name, code });
  const entries = Object.entries(bindings).map(([binding, type]) => ({
    binding: Number(binding),
    visibility: GPUShaderStage.COMPUTE,
    buffer: { type },
  }));
  const layout = device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });
  try {
    await device.createComputePipelineAsync({ layout, compute: { module, entryPoint: "main" } });
    const error = await device.popErrorScope();
    return error?.message;
  } catch (error) {
    await device.popErrorScope();
    const { messages } = await module.getCompilationInfo();
    return messages.length > 0 ? messages.map(({ message }) => message).join("; ") : error.message;
  }
}
