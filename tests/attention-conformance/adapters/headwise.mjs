// headwise, in both of its engines: adapters/headwise-wasm.mjs and headwise-webgpu.mjs.

export async function openHeadwise(settings, { load, features }) {
  const [{ createAttention }, { formula }, onnx] = await load("headwise", "headwise/formula", "headwise/onnx");
  const hw = await createAttention(settings);
  const asFormula = ({ text, parameters }) => formula(text, parameters);
  const optionsOf = ({ score, visible, ...options }) => ({
    ...options,
    layout: "BSHD",
    ...(score && { score: asFormula(score) }),
    ...(visible && { visible: asFormula(visible) }),
  });
  const attend = ({ query, key, value, options, returns }) =>
    hw.scaledDotProductAttention(query, key, value, { ...optionsOf(options), returns: { output: true, ...returns } });
  return {
    version: hw.report.version,
    report: hw.report,
    offers: features,
    layout: "BSHD",
    attention: attend,
    async gradients({ query, key, value, dOutput, dLse, options, gradients }) {
      const call = { query, key, value, options };
      const { output, lse } = await attend({ ...call, returns: { lse: true } });
      const returns = Object.fromEntries(gradients.map((name) => [name, true]));
      return hw.attentionBackward({ query, key, value, output, lse, dOutput, dLse, ...optionsOf(options), returns });
    },
    onnx: ({ attributes, opset }, inputs) => onnx.attention(hw, inputs, attributes, { opset }),
    close: () => hw.dispose(),
  };
}
