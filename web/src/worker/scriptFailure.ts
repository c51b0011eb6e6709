import { AssetError, type ErrorCode } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { answerOf } from "../load/answer.js";
import { PATIENCE_MILLISECONDS, within } from "../load/inTime.js";
import { shownAddress } from "../load/inlined.js";
import { sourceOf, type Violation } from "../load/policyWatch.js";
import type { StartFailure } from "./channel.js";
import { notStarted } from "./startFailure.js";

/**
 * Finds out why a worker's script did not start, because the browser's event does not say. It fetches the script again
 * and looks at the answer.
 *
 * @param thrown - The message of the event: what the script has thrown. It is "" if the script did not run.
 * @param violation - How the page's policy forbids the worker. It is asked last, because the browser says so later.
 */
export async function scriptFailure(
  script: string,
  thrown: string,
  violation: () => Violation | undefined,
): Promise<StartFailure> {
  const response = await fetched(script);
  const name = shownAddress(script);
  const forbids = violation();
  if (forbids)
    return forbidden(`the page's content security policy forbids ${name} (${forbids.directive})`, [
      forbids.source,
      sourceOf(script),
    ]);
  if (!(response instanceof Response)) return unreachable(script, response.thrown);
  const { ok, isScript, text, hint } = await answerOf(script, response);
  if (!ok) return failure("ASSET_NOT_FOUND", `${name} was not found: ${text}`, hint);
  if (!isScript) return failure("ASSET_INVALID", `${name} is not a script: ${text}`, hint);
  if (thrown) return failure("ASSET_INVALID", `${name} failed: ${thrown}; ${text}`, hint);
  if (!isolates(script, response)) return unisolated(name);
  const reason = `${name} was not run: ${text}`;
  // A policy that forbids what the page's own worker imports tells it to that worker only.
  return isForeign(script)
    ? forbidden(`${reason}; a content security policy may forbid it`, [
        globalThis.origin === "null" ? "data:" : "blob:",
        sourceOf(script),
      ])
    : notStarted(reason);
}

async function fetched(script: string): Promise<Response | { readonly thrown: unknown }> {
  try {
    return await within(fetch(script, { credentials: "same-origin" }), noAnswer);
  } catch (thrown) {
    return { thrown };
  }
}

function noAnswer(): AssetError {
  const message = `it was not answered within ${PATIENCE_MILLISECONDS / 1000} s`;
  return new AssetError(message, { code: "ASSET_TIMEOUT", hint: "Check the network and the server." });
}

const NO_WORKER = "or use headwise with `threads: 1`, or headwise/inline: they need no worker";

/** @param sources - What worker-src must list: both the worker and the script that it imports, if they differ. */
function forbidden(reason: string, sources: readonly string[]): StartFailure {
  const list = [...new Set(sources)].join(" ");
  return failure("ASSET_BLOCKED", reason, `Allow it with worker-src ${list}; ${NO_WORKER}.`);
}

/** The script cannot be fetched. A page reads files of another origin only if they allow it. */
function unreachable(script: string, cause: unknown): StartFailure {
  const failed = `${shownAddress(script)} could not be fetched`;
  if (AssetError.is(cause)) return failure(cause.code, `${failed}: ${cause.message}`, cause.hint, cause);
  const reason = `${failed}: ${thrownText(cause)}`;
  if (!isForeign(script))
    return failure(
      "ASSET_NOT_FOUND",
      reason,
      "Check the address, the network, and the page's connect-src policy.",
      cause,
    );
  const isSandboxed = globalThis.origin === "null";
  const where = isSandboxed ? "this page has an opaque origin (a sandboxed frame): " : "";
  const cure = isSandboxed ? "add allow-same-origin to the frame's sandbox" : "serve it from the page's origin";
  return failure(
    "ASSET_BLOCKED",
    where + reason,
    `Serve the script with Access-Control-Allow-Origin, or ${cure}; ${NO_WORKER}.`,
    cause,
  );
}

/** In an isolated page a worker runs only if its script is served with the isolating header too. */
function unisolated(name: string): StartFailure {
  return failure(
    "ASSET_BLOCKED",
    `this page is cross-origin isolated, and ${name} is served without Cross-Origin-Embedder-Policy`,
    `Serve the script with the header that the page has, Cross-Origin-Embedder-Policy: require-corp; ${NO_WORKER}.`,
  );
}

function isolates(script: string, { headers }: Response): boolean {
  // A script of another origin is imported by a blob, which has the page's own policy.
  return (
    !globalThis.crossOriginIsolated ||
    isForeign(script) ||
    ISOLATING.test(headers.get("cross-origin-embedder-policy") ?? "")
  );
}

const ISOLATING = /require-corp|credentialless/;

const isForeign = (script: string) => new URL(script).origin !== globalThis.origin;

function failure(code: ErrorCode, reason: string, hint: string, cause?: unknown): StartFailure {
  return { reason, code, hint, cause };
}
