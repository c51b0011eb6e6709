import { t } from "../../texts/t.js";
import type { Lecture, Stop } from "./lecture.js";

const KEY = "headwise-lecture";

/** What is kept of a stop. */
type Kept = Pick<Stop, "title" | "room" | "settings">;

/** The visitor's own list of figures, as this browser keeps it. */
export function ownLecture(): Lecture {
  const stops = kept().map((stop) => ({ ...stop, figure: ".stage .card", words: "" }));
  return { id: "own", title: t`Your own list`, stops };
}

/** Adds a figure at the end. */
export function addToOwn(stop: Kept): void {
  keep([...kept(), stop]);
}

export function removeFromOwn(at: number): void {
  keep(kept().toSpliced(at, 1));
}

/** Puts a stop before the one that stands before it. */
export function moveUpInOwn(at: number): void {
  const stops = kept();
  keep(stops.toSpliced(at - 1, 2, stops[at]!, stops[at - 1]!));
}

/** The list that the browser did not store: it is full, or stores nothing for this page. Undefined: what it stores counts. */
let unstored: string | undefined;

/** Whether the list is there after the page is closed. */
export const isLasting = (): boolean => unstored === undefined;

function kept(): readonly Kept[] {
  return stopsIn(unstored ?? stored() ?? "[]");
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(stops: readonly Kept[]): void {
  const text = JSON.stringify(stops);
  try {
    localStorage.setItem(KEY, text);
    unstored = undefined;
  } catch {
    unstored = text;
  }
}

/** What another page of this site has stored under the name is no list. */
function stopsIn(text: string): readonly Kept[] {
  try {
    const stops: unknown = JSON.parse(text);
    return Array.isArray(stops) ? stops.filter(isKept) : [];
  } catch {
    return [];
  }
}

function isKept(stop: Kept | null): stop is Kept {
  return typeof stop?.title === "string" && typeof stop.room === "string" && typeof stop.settings === "object";
}
