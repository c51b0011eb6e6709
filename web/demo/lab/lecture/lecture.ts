import { formatAddress } from "../shell/address.js";

/** A place of a lecture: a figure, what is said about it, and a question whose answer is hidden at first. */
export interface Stop {
  readonly title: string;
  readonly room: string;
  /** The settings of the room that differ from its first ones. */
  readonly settings: Readonly<Record<string, string>>;
  /** A CSS selector of the figure in the room. */
  readonly figure: string;
  /** What is said; empty for a list of the visitor's own. */
  readonly words: string;
  readonly quiz?: { readonly question: string; readonly answer: string };
}

/** Figures in the order in which a lecture shows them. */
export interface Lecture {
  readonly id: string;
  readonly title: string;
  /** How long it takes, about; absent for a list of the visitor's own. */
  readonly minutes?: number;
  readonly stops: readonly Stop[];
}

/** The address of a stop, from 1. */
export function stopAddress({ id, stops }: Lecture, number: number): string {
  const { room, settings } = stops[number - 1]!;
  return formatAddress({ room, query: new URLSearchParams({ ...settings, lecture: `${id}-${number}` }) });
}
