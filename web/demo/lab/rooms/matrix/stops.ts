/** What a narrow screen shows one after another: the products of the diagram, and the cards after it. */
export const STOPS = 15;
/** The card “Why 1/√D”, to which the tour leads. */
export const VARIANCE_STOP = 11;
