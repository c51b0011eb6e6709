import { OptionError } from "../base/errors.js";

/** The error of a name that the package had before its first release. */
export function renamed(former: string, now: string): OptionError {
  return new OptionError(`${former}: it has another name now: ${now}`);
}
