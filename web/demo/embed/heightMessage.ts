/**
 * What a figure tells the page around it: its height in CSS pixels, and nothing else. It is told when the figure is drawn,
 * and after every change.
 */
export interface HeightMessage {
  readonly type: "headwise-height";
  readonly height: number;
}

/** The height in a message; undefined if it is another message. */
export function heightIn(data: unknown): number | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const { type, height } = data as Partial<HeightMessage>;
  return type === "headwise-height" && Number.isFinite(height) && height! > 0 ? height : undefined;
}
