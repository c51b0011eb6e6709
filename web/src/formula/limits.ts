/** The longest text of a formula. */
export const MAX_TEXT = 4096;

/** The most operations of a formula; kMostFormulaInstructions in cpp/include/headwise/formula.h. */
export const MAX_NODES = 256;

/** The most parameters of a formula. */
export const MAX_PARAMETERS = 64;

/** The most numbers of a table. */
export const MAX_ELEMENTS = 2 ** 24;

/** float32 holds every whole number up to this one. */
export const MAX_WHOLE = 2 ** 24;

/** A limit of a row's keys is trusted to have the arithmetic of float32 for positions and whole tables up to this one. */
export const MAX_EXACT_POSITION = 2 ** 22;

/** The most operations of a formula's derivatives; kMostDerivativeInstructions in cpp/include/headwise/backward.h. */
export const MAX_DERIVATIVE_NODES = 1024;
