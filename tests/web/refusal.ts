import type { HeadwiseError } from "headwise";

/** The error of work that must be refused. */
export async function errorOf(work: Promise<unknown>): Promise<HeadwiseError> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error as HeadwiseError,
  );
  if (outcome) return outcome;
  throw new Error("it was not refused");
}
