/** A percent sign after its number, with a space at which no line breaks. */
export const PERCENT = "\u00a0%";
