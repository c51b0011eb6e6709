/** Text as numbers. */
export interface Vocabulary {
  readonly count: number;
  /** What each number stands for. */
  readonly tokens: readonly string[];
  /** The numbers of a text. What the vocabulary does not have is left out. */
  ids(text: string): Int32Array;
  /** What of a text has no number, each once. */
  unknown(text: string): readonly string[];
  /** The part of the text that each number writes: the spaces and capital letters depend on what stands before. */
  pieces(ids: Iterable<number>): readonly string[];
  text(ids: Iterable<number>): string;
}
