// The memory of one call of 16,384 queries and keys, for Node and for a page.

/**
 * @param {object} engine
 * @param {object} suite - the measure's module
 * @param {() => Promise<number>} peak - bytes that the engine's processes have taken at most
 * @returns {Promise<object>} the check
 */
export async function memoryCheck(engine, { memoryCall, memoryVerdict, attention }, peak) {
  const check = { name: "memory-16384-keys", category: "memory" };
  try {
    const large = memoryCall();
    await attention(engine, memoryCall(256)); // loads and compiles
    const before = await peak();
    const { output } = await attention(engine, large);
    return { ...check, ...memoryVerdict(output, (await peak()) - before) };
  } catch (error) {
    return { ...check, verdict: "refused", note: `throws: ${String(error).split("\n")[0].slice(0, 200)}` };
  }
}
