import type { GpuResult } from "../../tensor/gpuTensor.js";
import {
  BYTES,
  elementCount,
  type BufferTensor,
  type CheckedTensor,
  type Dtype,
  type TypedTensor,
} from "../../tensor/tensor.js";
import { asArray, type Call, type Deliver } from "../call/call.js";
import { keepOnGpu } from "./result.js";

/** Copies a tensor into a buffer of its own on the GPU. */
export function recordUpload<D extends Dtype>(call: Call, tensor: CheckedTensor<D>): Deliver<GpuResult<D>> {
  const { data, shape, dtype } = tensor as TypedTensor<D>;
  const room = call.resultRoom(data.byteLength, "gpu");
  call.write(room, 0, data);
  const kept = keepOnGpu(call, room, shape, dtype);
  return () => kept;
}

/** Copies a tensor on the GPU to JavaScript. */
export function recordDownload<D extends Dtype>(
  call: Call,
  { gpu, shape, dtype }: BufferTensor<D>,
): Deliver<TypedTensor<D>> {
  const bytes = elementCount(call.operation, "tensor", shape) * BYTES[dtype];
  const read = call.read(call.source(gpu), bytes);
  return (mapped) => ({ data: asArray(dtype, read(mapped)), shape, dtype });
}
