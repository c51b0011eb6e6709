import { isObject } from "../base/describe.js";

/**
 * The value of a text of JSON; undefined if there is none. Python also writes `Infinity`, `-Infinity` and `NaN`, which are
 * not JSON. They are read too: infinities as numbers, `NaN` as the text "NaN", which no field allows.
 */
export function parsed(text: string): unknown {
  return plainlyParsed(text) ?? plainlyParsed(withoutPython(text));
}

function plainlyParsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text with numbers of Python as JSON, outside of strings. One expression for a string would run out of stack. */
function withoutPython(text: string): string {
  let isInString = false;
  return text.replace(/\\.|"|\bInfinity\b|\bNaN\b/gs, (token) => {
    if (token === '"') isInString = !isInString;
    return isInString ? token : (PYTHON[token] ?? token);
  });
}

/** The object in a text of JSON; undefined if there is none. */
export function parsedObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parsed(text);
  return isObject(value) && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : undefined;
}

const PYTHON: Readonly<Record<string, string>> = { Infinity: "1e999", NaN: '"NaN"' };
