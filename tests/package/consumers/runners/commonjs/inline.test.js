const { createAttention, HeadwiseError } = require("headwise/inline");
const { formula } = require("headwise/formula");
const { softmax } = require("headwise/onnx");

test("headwise/inline, headwise/formula and headwise/onnx compute", async () => {
  const hw = await createAttention();
  const { output } = await softmax(hw, { input: { data: new Float32Array([1, 1]), shape: [1, 2] } });
  expect(Array.from(output.data)).toEqual([0.5, 0.5]);
  const x = { data: new Float32Array([1, 2]), shape: [2, 1] };
  const { scores } = await hw.scaledDotProductAttention(x, x, x, {
    visible: formula("k <= q"),
    returns: { scores: "formula" },
  });
  expect(Array.from(scores.data)).toEqual([1, -Infinity, 2, 4]);
  await expect(hw.rotaryEmbedding({})).rejects.toThrow("x must be a tensor");
  expect(HeadwiseError.is(await hw.rotaryEmbedding({}).catch((error) => error))).toBe(true);
  hw.dispose();
});
