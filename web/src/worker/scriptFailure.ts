import { AssetError, type ErrorCode } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { answerOf } from "../load/answer.js";
import { PATIENCE_MILLISECONDS, within } from "../load/inTime.js";
import { shownAddress } from "../load/inlined.js";
import type { StartFailure } from "./channel.js";
import type { PolicyWatch } from "./policyWatch.js";
import { notStarted } from "./startFailure.js";

/**
 * Finds out why a worker's script did not start, because the browser's event does not say. It fetches the script again
 * and looks at the answer.
 *
 * @param thrown - The message of the event: what the script has thrown. It is "" if the script did not run.
 */
export async function scriptFailure(script: string, thrown: string, policy: PolicyWatch): Promise<StartFailure> {
  const response = await fetched(script);
  const name = shownAddress(script);
  if (policy.violation) return forbidden(name, policy.violation);
  if (!(response instanceof Response)) return unreachable(script, response.thrown);
  const { ok, isScript, text, hint } = await answerOf(script, response);
  if (!ok) return failure("ASSET_NOT_FOUND", `${name} was not found: ${text}`, hint);
  if (!isScript) return failure("ASSET_INVALID", `${name} is not a script: ${text}`, hint);
  if (thrown) return failure("ASSET_INVALID", `${name} failed: ${thrown}; ${text}`, hint);
  return isolates(script, response) ? notStarted(`${name} was not run: ${text}`) : unisolated(name);
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

/** The page's content security policy forbids the worker. */
function forbidden(name: string, { directive, blocked }: NonNullable<PolicyWatch["violation"]>): StartFailure {
  const source = ["blob", "data"].includes(blocked) ? `${blocked}:` : "'self'"; // a script of another origin is imported
  return failure(
    "ASSET_BLOCKED",
    `the page's content security policy forbids ${name} (${directive})`,
    `Allow it with worker-src ${source}; ${NO_WORKER}.`,
  );
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
