/** A head of a model. Code counts layers from 1 and heads from 0. Addresses count both from 1, as the page does. */
export interface HeadPlace {
  readonly layer: number;
  readonly head: number;
}

/** Reads "2.1" of an address, the first head of the second layer; undefined if it is no head. */
export function placeOf(name: string): HeadPlace | undefined {
  const [, layer, head] = /^([1-9]\d{0,2})\.([1-9]\d{0,2})$/.exec(name.trim()) ?? [];
  return layer === undefined ? undefined : { layer: Number(layer), head: Number(head) - 1 };
}

/** Writes "2.1" for an address. */
export function placeName({ layer, head }: HeadPlace): string {
  return `${layer}.${head + 1}`;
}

export function isSameHead(a: HeadPlace, b: HeadPlace): boolean {
  return a.layer === b.layer && a.head === b.head;
}
