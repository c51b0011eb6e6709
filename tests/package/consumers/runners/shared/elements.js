import { createAttention } from "headwise/inline";
import { defineElements } from "headwise/viz";

/** Makes both elements, in markup and by script, and gives them what was computed. Drawing is a browser's. */
export async function elementsWithProbs() {
  defineElements();
  document.body.innerHTML = "<attention-map controls></attention-map><attention-heads controls></attention-heads>";
  document.body.append(document.createElement("attention-map"), document.createElement("attention-heads"));
  const hw = await createAttention();
  const tokens = { data: new Float32Array([1, 0, 0, 1, 1, 1]), shape: [1, 3, 2] };
  const { probs } = await hw.scaledDotProductAttention(tokens, tokens, tokens, { returns: { probs: true } });
  hw.dispose();
  const elements = [...document.querySelectorAll("attention-map, attention-heads")];
  for (const element of elements) Object.assign(element, { tokens: ["a", "b", "c"], causal: true, probs });
  await new Promise((resolve) => setTimeout(resolve, 100)); // they draw in the next frame, if at all
  elements[0].remove();
  return elements.map((element) => element.probs.shape);
}
