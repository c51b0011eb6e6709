import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { readRecord } from "./record.js";

/** The options that are given, and `defaults` for the rest. Throws if `defaults` has no option of that name. */
export function withDefaults<T extends object>(operation: string, given: Optional<T>, defaults: T): T {
  const names = Object.keys(defaults);
  const entries = [...guarded(operation, "options", () => readRecord(operation, "options", given, names))];
  const unknown = entries.find(([name]) => !names.includes(name));
  if (unknown !== undefined)
    throw new OptionError(`${operation}: option ${describe(unknown[0])} must be one of ${names.join(", ")}`);
  const stated = entries.filter(([, value]) => value !== undefined);
  return { ...defaults, ...(Object.fromEntries(stated) as Partial<T>) };
}

/** The properties of T as options: each may be absent or undefined. */
export type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined };
