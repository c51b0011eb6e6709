// node toSpirv.mjs SHADER.wgsl: makes a compute pipeline on a software adapter. Dawn prints its SPIR-V as text.

import { readFileSync } from "node:fs";

import { create } from "webgpu";

// The GPU object must live as long as its device: if it was collected, the process would crash.
globalThis.gpu = create(["enable-dawn-features=dump_shaders,disable_symbol_renaming"]);
const adapter = await globalThis.gpu.requestAdapter();
if (!adapter) throw new Error("there is no WebGPU adapter");
const { maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX } = adapter.limits;
const device = await adapter.requestDevice({
  requiredFeatures: ["subgroups", "shader-f16"].filter((name) => adapter.features.has(name)),
  requiredLimits: { maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX },
});
const module = device.createShaderModule({ code: readFileSync(process.argv[2], "utf8") });
await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
process.exit(0);
