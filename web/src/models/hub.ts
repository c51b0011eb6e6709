import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { readKnown } from "./knownNames.js";

/** Options of `hub`. */
export interface HubOptions {
  /** A branch, a tag or a commit. Default `"main"`. A commit always names the same files. */
  readonly revision?: string | undefined;
  /** Where the hub is. Default `"https://huggingface.co"`. */
  readonly host?: string | undefined;
}

const OPERATION = "hub";
/** OWNER/NAME, or NAME alone for the oldest models. */
const REPOSITORY = /^(?!\.+(\/|$))[\w.-]+(\/(?!\.+$)[\w.-]+)?$/;

/**
 * The address of a model's folder on a hub with the layout of Hugging Face: `HOST/OWNER/NAME/resolve/REVISION/`. It contacts
 * nothing: `openModel` does, if it gets this address.
 *
 * @param repository - The name of the model, such as `"openai-community/gpt2"`.
 * @throws OptionError if it is no such name.
 */
export function hub(repository: string, options: HubOptions = {}): string {
  const { known } = readKnown(OPERATION, options, { revision: true, host: true });
  const { revision = "main", host = "https://huggingface.co" } = known;
  if (typeof repository !== "string" || !REPOSITORY.test(repository))
    throw new OptionError(`${OPERATION}: repository must be a name such as "owner/name", got ${describe(repository)}`);
  if (typeof revision !== "string" || /^\.{0,2}$/.test(revision))
    throw new OptionError(`${OPERATION}: revision must be a branch, a tag or a commit, got ${describe(revision)}`);
  if (typeof host !== "string" || !/^https?:\/\/[^/]/.test(host))
    throw new OptionError(`${OPERATION}: host must be an address that begins with http, got ${describe(host)}`);
  return `${host.replace(/\/+$/, "")}/${repository}/resolve/${encodeURIComponent(revision)}/`;
}
