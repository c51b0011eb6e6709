/** One of the bench's own programs, with its threads started. */
export async function loadProgram(url, threads) {
  const { default: create } = await import(url);
  const program = await create({ numThreads: threads });
  program._start(threads);
  return program;
}
