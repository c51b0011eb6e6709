// What `require` gives, with the types of what `import` gives.

import { HeadwiseError, tensor, type Attention } from "headwise/inline";
import inline = require("headwise/inline");
export * as formula from "headwise/formula";
export * as inspect from "headwise/inspect";
export * as models from "headwise/models";
export * as onnx from "headwise/onnx";
export * as train from "headwise/train";
export * as viz from "headwise/viz";

export async function compute(): Promise<Attention | undefined> {
  try {
    const hw = await inline.createAttention({ maximumMemory: 2 ** 28 });
    const output = await hw.rotaryEmbedding(tensor(new Float32Array(4), [2, 2]));
    const data: Float32Array = output.data;
    console.log(data, hw.report.threads);
    // @ts-expect-error: an option that does not exist
    await inline.createAttention({ threadz: 2 });
    return hw;
  } catch (error) {
    if (HeadwiseError.is(error)) console.error(error.hint);
    return undefined;
  }
}
