/** Whether the tests take the time for all random calls: `npm test -- --deep`. */
const isDeep = process.env["HEADWISE_DEEP"] === "1";

/** The usual number, or the deep one. A name of a test that says the number says how to get the other. */
export const countOf = (usual: number, deep: number) => (isDeep ? deep : usual);
