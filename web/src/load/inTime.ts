import { AssetError } from "../base/errors.js";

/** After this time without an answer we stop waiting. */
export const PATIENCE_MILLISECONDS = 30_000;

/**
 * Waits for `promise`, at most for this time.
 *
 * @param failed - What did not happen, for the message: "http://… did not answer".
 */
export function inTime<T>(operation: string, promise: Promise<T>, failed: string, hint: string): Promise<T> {
  return within(promise, () => timeOut(operation, failed, hint));
}

/** The same. @param error - Makes what it rejects with after this time. */
export async function within<T>(promise: Promise<T>, error: () => Error): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(error()), PATIENCE_MILLISECONDS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function timeOut(operation: string, failed: string, hint: string): AssetError {
  return new AssetError(`${operation}: ${failed} within ${PATIENCE_MILLISECONDS / 1000} s`, {
    code: "ASSET_TIMEOUT",
    hint,
  });
}
