import { elementsWithProbs } from "./elements.js";

test("headwise/inline computes, and the elements of headwise/viz take it", async () => {
  expect(await elementsWithProbs()).toEqual(Array(4).fill([1, 3, 3]));
});
