// Writes a model in ONNX's protobuf form: only the fields that a graph of named operators needs. Their numbers are in
// onnx/onnx.proto3 of the ONNX project.

export const FLOAT = 1;
export const INT32 = 6;
export const INT64 = 7;
export const BOOL = 9;
export const FLOAT16 = 10;

/** The names of ONNX Runtime for these types. */
export const TYPE_NAMES = { [INT32]: "int32", [INT64]: "int64", [BOOL]: "bool", [FLOAT16]: "float16" };

/**
 * @param {object} graph
 * @param {{ op: string, domain?: string, inputs: string[], outputs: string[], attributes?: object }[]} graph.nodes
 * @param {{ name: string, type?: number, shape?: number[] }[]} graph.inputs - without a shape: of any
 * @param {{ name: string, data: ArrayBufferView, type?: number, shape: number[] }[]} [graph.constants]
 * @param {(string | { name: string, type: number })[]} graph.outputs - of any shape; a name alone is float32
 * @returns {Uint8Array}
 */
export function onnxModel({ nodes, inputs, constants = [], outputs, opset = 23 }) {
  const graph = [
    ...nodes.map((node) => message(1, nodeProto(node))),
    text(2, "bench"),
    ...constants.map((constant) => message(5, tensorProto(constant))),
    ...inputs.map(({ name, type = FLOAT, shape }) => message(11, valueProto(name, type, shape))),
    ...outputs.map((output) => message(12, valueProto(output.name ?? output, output.type ?? FLOAT))),
  ];
  const operators = (domain, version) => message(8, [text(1, domain), integer(2, version)]);
  const model = [integer(1, 10), operators("", opset), operators("com.microsoft", 1), message(7, graph)];
  return join(model);
}

function nodeProto({ op, domain, inputs, outputs, attributes = {} }) {
  return [
    ...inputs.map((name) => text(1, name)),
    ...outputs.map((name) => text(2, name)),
    text(4, op),
    ...Object.entries(attributes).map(([name, value]) => message(5, attributeProto(name, value))),
    ...(domain ? [text(7, domain)] : []),
  ];
}

/** A number is an integer, a list is a list of integers, { float } is a float. */
function attributeProto(name, value) {
  if (Array.isArray(value)) return [text(1, name), ...value.map((item) => integer(8, item)), integer(20, 7)];
  if (typeof value === "number") return [text(1, name), integer(3, value), integer(20, 2)];
  return [text(1, name), float(2, value.float), integer(20, 1)];
}

function tensorProto({ name, data, type = FLOAT, shape }) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return [...shape.map((extent) => integer(1, extent)), integer(2, type), text(8, name), field(9, bytes)];
}

function valueProto(name, type, shape) {
  const extents =
    shape &&
    message(
      2,
      shape.map((extent) => message(1, [integer(1, extent)])),
    );
  return [text(1, name), message(2, [message(1, [integer(1, type), ...(extents ? [extents] : [])])])];
}

// A piece is a list of byte arrays, so that large tensors are copied only once, at the end.

const text = (number, string) => field(number, new TextEncoder().encode(string));
const integer = (number, value) => [key(number, 0), varint(value)];
const float = (number, value) => [key(number, 5), new Uint8Array(Float32Array.of(value).buffer)];
const message = (number, pieces) => {
  const parts = pieces.flat();
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return [key(number, 2), varint(length), ...parts];
};
const field = (number, bytes) => [key(number, 2), varint(bytes.length), bytes];
const key = (number, wireType) => varint(number * 8 + wireType);

function varint(value) {
  const bytes = [];
  do {
    const rest = Math.floor(value / 128);
    bytes.push((value % 128) | (rest > 0 ? 128 : 0));
    value = rest;
  } while (value > 0);
  return Uint8Array.from(bytes);
}

function join(pieces) {
  const parts = pieces.flat();
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
