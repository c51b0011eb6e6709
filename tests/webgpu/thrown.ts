/** What a promise rejects with, or a sentence that it did not. */
export function thrown(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "it was computed",
    (reason: unknown) => reason,
  );
}
