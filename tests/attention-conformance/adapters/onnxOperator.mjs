// One operator as an ONNX model, run by ONNX Runtime.

import { BOOL, FLOAT, FLOAT16, INT64, onnxModel } from "./onnxModel.mjs";

const TYPES = { float32: FLOAT, float16: FLOAT16, bool: BOOL, int64: INT64 };

/**
 * @param {object} ort - the module of ONNX Runtime
 * @param {object} options - of its session
 * @param {{ op: string, domain?: string, attributes: object, opset?: number }} operator - numbers of `attributes` that
 *   belong to `FLOATS` are floats, others integers
 * @param {[string, object | undefined][]} inputs - in the operator's order: { data, shape, dtype }
 * @param {string[]} outputs - in the operator's order; "" for one that is not wanted
 * @returns {Promise<Record<string, { data: ArrayLike<number>, dtype: string }>>}
 */
export async function runOperator(ort, options, { attributes, opset, ...operator }, inputs, outputs) {
  const given = inputs.filter(([, tensor]) => tensor);
  const wanted = outputs.filter(Boolean);
  const type = TYPES[given[0][1].dtype];
  const names = inputs.slice(0, inputs.indexOf(given.at(-1)) + 1).map(([name, tensor]) => (tensor ? name : ""));
  const model = onnxModel({
    nodes: [{ ...operator, attributes: withFloats(attributes), inputs: names, outputs }],
    inputs: given.map(([name, { dtype, shape }]) => ({ name, type: TYPES[dtype], shape })),
    outputs: wanted.map((name) => ({ name, type })),
    ...(opset && { opset }),
  });
  const session = await ort.InferenceSession.create(model, options);
  try {
    const tensors = given.map(([name, { dtype, data, shape }]) => [name, new ort.Tensor(dtype, data, shape)]);
    const results = await session.run(Object.fromEntries(tensors));
    const read = wanted.map(async (name) => [name, { data: await results[name].getData(), dtype: results[name].type }]);
    return Object.fromEntries(await Promise.all(read));
  } finally {
    await session.release();
  }
}

const FLOATS = ["scale", "softcap"];

const withFloats = (attributes) =>
  Object.fromEntries(
    Object.entries(attributes)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, FLOATS.includes(name) ? { float: value } : value]),
  );
