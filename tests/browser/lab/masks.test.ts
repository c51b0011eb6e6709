import { test } from "@jest/globals";

import { optionsOf, tensorsOf } from "../../../web/demo/lab/rooms/masks/options.js";
import { fields } from "../../../web/demo/lab/rooms/masks/settings.js";
import { State } from "../../../web/demo/lab/shell/state.js";
import { expectClose, LabPage } from "./labPage.js";

const lab = new LabPage();

test.each([
  "",
  "left=5&alibi=true&softcap=5&sink=1&kvHeads=2&keyLength=20",
  "keys=9&emptyRows=uniform&excludeSelf=true",
])("masks, %s: the room computes what the package computes in Node", async (query) => {
  const { values } = new State(fields, new URLSearchParams(query));
  const tensors = tensorsOf(values);
  const { probs } = await lab.hw.scaledDotProductAttention(tensors.query, tensors.key, tensors.value, {
    ...optionsOf(values),
    returns: { probs: true },
  });
  await lab.enter(`masks?${query}`);
  expectClose(await lab.mapNumbers(), probs.data);
});
