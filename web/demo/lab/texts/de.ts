import type { Texts } from "./texts.js";

/** Everything that the lab says, in German. `tests/lab/labTexts.test.ts` finds what is missing. */
export const GERMAN: Texts = {
  // ——— the shell: bar, engine, failures, controls

  // ——— end of the shell: bar, engine, failures, controls

  // ——— rooms.ts: the doors

  // ——— end of rooms.ts: the doors

  // ——— the tour

  // ——— end of the tour

  // ——— figures in other pages

  // ——— end of figures in other pages

  // ——— numbers

  // ——— end of numbers

  // ——— Lesson

  // ——— end of Lesson

  // ——— Sentence

  // ——— end of Sentence

  // ——— Matrix

  // ——— end of Matrix

  // ——— Positions

  // ——— end of Positions

  // ——— Masks

  // ——— end of Masks

  // ——— Flash

  // ——— end of Flash

  // ——— Train

  // ——— end of Train

  // ——— Generate

  // ——— end of Generate

  // ——— Your model

  // ——— end of Your model

  // ——— Your device

  // ——— end of Your device

  // ——— Bench

  // ——— end of Bench

  // ——— the engine's messages

  // ——— end of the engine's messages
};
