import { test } from "@jest/globals";

import { type Engine } from "../../../web/demo/lab/engine/engine.js";
import { placed } from "../../../web/demo/lab/rooms/positions/placing.js";
import { embeddings } from "../../../web/demo/lab/rooms/positions/words.js";
import { expectClose, LabPage } from "./labPage.js";

const lab = new LabPage();

test.each(["none", "learned", "sinusoidal", "rotary"] as const)(
  "positions, %s: the room computes what the package computes in Node",
  async (kind) => {
    const x = embeddings(["the", "park", "by", "the", "park"]);
    const { query, key } = await placed(lab.hw as unknown as Engine, x, 0, { kind, base: 1e4 });
    const { probs } = await lab.hw.scaledDotProductAttention(query, key, key, { returns: { probs: true } });
    await lab.enter(`positions?kind=${kind}`);
    expectClose(await lab.mapNumbers(), probs.data);
  },
);
