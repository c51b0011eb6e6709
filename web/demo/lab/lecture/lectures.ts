import type { Lecture } from "./lecture.js";
import { matrices } from "./lectures/matrices.js";
import { models } from "./lectures/models.js";
import { words } from "./lectures/words.js";
import { ownLecture } from "./ownLecture.js";

/** The lectures of the lab, in the order in which they follow one another. */
export const LECTURES: readonly Lecture[] = [words, matrices, models];

/** A stop of a lecture. */
export interface Place {
  readonly lecture: Lecture;
  /** From 1. */
  readonly number: number;
}

/** The place that an address names, as in "words-3"; undefined if there is no such stop. */
export function placeOf(name: string): Place | undefined {
  const [, id, number] = /^(\w+)-(\d+)$/.exec(name) ?? [];
  const lecture = [...LECTURES, ownLecture()].find((each) => each.id === id);
  const isStop = lecture?.stops[Number(number) - 1] !== undefined;
  return isStop ? { lecture, number: Number(number) } : undefined;
}

/** The lecture that follows another one. */
export function lectureAfter(lecture: Lecture): Lecture | undefined {
  const at = LECTURES.indexOf(lecture);
  return at < 0 ? undefined : LECTURES[at + 1];
}
