/** Loads one of the bench's own programs and starts its threads. */
export async function loadProgram(name, { threads, locate, isNode }) {
  const { default: create } = await import(locate(`build/bench-programs/${isNode ? "node" : "worker"}/${name}.js`));
  const program = await create({ numThreads: threads });
  program._start(threads);
  return program;
}
