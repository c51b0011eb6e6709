import { expect, test } from "@jest/globals";

import { textOf } from "../../web/src/base/utf8.js";

test.each(["", "attend: key.shape[1] must be 3", "Σ p·v → −∞, 100 %", "\u{1F441}"])("text from bytes: %p", (text) => {
  expect(textOf(new TextEncoder().encode(text))).toBe(text);
});
