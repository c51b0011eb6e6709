// A model of one operator, written by protobufjs. Field numbers are those of onnx/onnx.proto3 of the ONNX project.

import protobuf from "protobufjs";

const { root } = protobuf.parse(
  `
  syntax = "proto3";
  message Dimension { int64 dim_value = 1; }
  message Shape { repeated Dimension dim = 1; }
  message TensorType { int32 elem_type = 1; Shape shape = 2; }
  message Type { TensorType tensor_type = 1; }
  message Value { string name = 1; Type type = 2; }
  message Attribute { string name = 1; optional float f = 2; optional int64 i = 3; int32 type = 20; }
  message Node {
    repeated string input = 1; repeated string output = 2; string op_type = 4; repeated Attribute attribute = 5;
    string domain = 7;
  }
  message Graph { repeated Node node = 1; string name = 2; repeated Value input = 11; repeated Value output = 12; }
  message Opset { string domain = 1; int64 version = 2; }
  message Model { int64 ir_version = 1; Graph graph = 7; repeated Opset opset_import = 8; }
`,
  { keepCase: true },
);

const value = (name, shape) => ({
  name,
  type: {
    tensor_type: { elem_type: 1, ...(shape && { shape: { dim: shape.map((extent) => ({ dim_value: extent })) } }) },
  },
});

/**
 * @param {{ op_type: string, domain?: string, attribute: object[] }} node
 * @param {Record<string, number[]>} inputs - shapes by name, in the operator's order; all are float32
 * @param {string[]} outputs - "" for one that is not wanted
 */
export function modelOf(node, inputs, outputs) {
  const Model = root.lookupType("Model");
  const graph = {
    name: "reproduction",
    node: [{ ...node, input: Object.keys(inputs), output: outputs }],
    input: Object.entries(inputs).map(([name, shape]) => value(name, shape)),
    output: outputs.filter(Boolean).map((name) => value(name)),
  };
  const opset_import = [
    { domain: "", version: 23 },
    { domain: "com.microsoft", version: 1 },
  ];
  return Model.encode(Model.create({ ir_version: 10, graph, opset_import })).finish();
}

export const float = (name, f) => ({ name, f, type: 1 });
export const integer = (name, i) => ({ name, i, type: 2 });
