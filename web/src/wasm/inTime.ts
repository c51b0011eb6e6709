import { AssetError } from "../errors/errors.js";

/** Silence that lasts longer will not end. */
export const PATIENCE_MILLISECONDS = 30_000;

/**
 * Waits no longer than patience lasts.
 *
 * @param failed - What messages say that did not happen: "http://… did not answer".
 */
export async function inTime<T>(operation: string, promise: Promise<T>, failed: string, hint: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timeOut(operation, failed, hint)), PATIENCE_MILLISECONDS);
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
