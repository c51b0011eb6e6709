import { flag, text } from "../shell/field.js";
import type { State } from "../shell/state.js";

/** The place in a lecture. It is part of every room's address, so no room has settings of these names. */
export const lectureFields = {
  /** The lecture and its stop, as in "words-3"; empty without a lecture. */
  lecture: text("", 40),
  /** Whether the answer is shown. */
  answer: flag(false),
};

export type LectureState = State<typeof lectureFields>;
