import { gpuDataOf, type GpuResult } from "../tensor/gpuTensor.js";
import { BYTES, elementCount, type CheckedTensor, type Dtype, type TypedTensor } from "../tensor/tensor.js";
import { asArray, runCall } from "./call.js";
import type { GpuCore } from "./core.js";
import { keepOnGpu } from "./result.js";

/** Copies a tensor into a buffer of its own on the GPU. */
export function upload<D extends Dtype>(
  core: GpuCore,
  operation: string,
  tensor: CheckedTensor<D>,
): Promise<GpuResult<D>> {
  const { data, shape, dtype } = tensor as TypedTensor<D>;
  return runCall(core, operation, (call) => {
    const room = call.resultRoom(data.byteLength, "gpu");
    call.write(room, 0, data);
    const kept = keepOnGpu(call, room, shape, dtype);
    return () => kept;
  });
}

/** Copies a tensor on the GPU to JavaScript. */
export function download<D extends Dtype>(
  core: GpuCore,
  operation: string,
  tensor: CheckedTensor<D>,
): Promise<TypedTensor<D>> {
  const { shape, dtype } = tensor as TypedTensor<D>;
  const bytes = elementCount(operation, "tensor", shape) * BYTES[dtype];
  return runCall(core, operation, (call) => {
    const read = call.read(call.source(gpuDataOf(tensor)!));
    return (result) => ({ data: asArray(dtype, read(result).slice(0, bytes)), shape, dtype });
  });
}
