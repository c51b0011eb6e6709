// The options of a command. Its usage, which `--help` prints, says which it has:
//
//   --fresh        a line that begins so, with two spaces before it, is an option
//   --only LIST    a word in capitals behind the name: the option has a value

import { existsSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

const COMMAND = /^ *((?:npm|node) .*?) \[options\]/m;
const OPTION = /^ {2}--([\w-]+)(?: ([A-Z]+))?(?= {2,}|$)/gm;

/** The command was typed wrongly. The message says what to type instead. */
export class UsageError extends Error {
  name = "UsageError";

  constructor(message) {
    super(`${message}\n--help lists the options.`);
  }
}

/**
 * The options of this command. `--help` prints the usage and ends the command.
 *
 * @param {string} usage
 * @param {object} [more] - as of `readOptions`
 */
export function optionsOf(usage, more) {
  const values = readOptions(usage, process.argv.slice(2), more);
  if (!values.help) return values;
  console.log(usage.trimEnd());
  process.exit();
}

/**
 * The settings of a program that works at once, without a function of its own that could fail. Without `--help`, and if no
 * option is wrong, it goes on; otherwise it says so and ends.
 *
 * @template T
 * @param {string} usage
 * @param {(given: object) => T} [read] - what the options mean
 * @param {object} [more] - as of `readOptions`
 * @returns {T}
 */
export function settingsOf(usage, read = (given) => given, more) {
  try {
    return read(optionsOf(usage, more));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

/**
 * Reads options: texts, and true for those without a value. An option that was not given is undefined.
 *
 * @param {string} usage
 * @param {readonly string[]} args
 * @param {object} [more]
 * @param {string} [more.repeated] - the option that may be given several times: its value is a list
 * @param {string} [more.likely] - the option that was probably meant by a value without one
 * @param {Record<string, string | undefined>} [more.env]
 * @throws {UsageError} if an option does not exist, its value is missing or too much, or npm has kept it
 */
export function readOptions(usage, args, { repeated, likely, env = process.env } = {}) {
  const command = COMMAND.exec(usage)[1];
  const options = { help: { type: "boolean", short: "h" } };
  for (const [, name, value] of usage.matchAll(OPTION))
    if (name !== "help") options[name] = { type: value ? "string" : "boolean", multiple: name === repeated, value };
  const kept = startedByNpm(env) ? keptByNpm(options, env) : [];
  if (kept.length > 0)
    throw new UsageError(
      `Options stand behind "--", or npm takes them for its own. Write: ${[command, ...kept].join(" ")}`,
    );
  const { values, tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === "positional")
      throw new UsageError(
        `"${token.value}" stands alone${likely ? `; write ${command} --${likely} "${token.value}"` : ""}`,
      );
    if (token.kind === "option") check(token, options);
  }
  return values;
}

/** Whether npm started this process itself, not a program that npm started. */
function startedByNpm({ npm_lifecycle_script: script = "" }) {
  const [, program] = script.split(" ");
  return program !== undefined && path.resolve(program) === process.argv[1];
}

/**
 * The options of the command that stood before "--", as they should have been typed. npm does not pass them on, but puts
 * them into the environment with its own: `--fresh` as npm_config_fresh=true, `--no-serve` as npm_config_serve= (nothing).
 */
function keptByNpm(options, env) {
  return Object.entries(options).flatMap(([name, { value: word }]) => {
    const kept = env[`npm_config_${name.replace(/^no-/, "").replaceAll("-", "_")}`];
    if (name.startsWith("no-")) return kept === "" ? [`--${name}`] : [];
    if (!kept) return [];
    if (!word) return [`--${name}`];
    return [kept === "true" ? `--${name} ${word}` : `--${name}=${kept}`];
  });
}

function check({ name, rawName, value }, options) {
  if (!Object.hasOwn(options, name))
    throw new UsageError(`there is no option ${rawName}; did you mean --${nearest(name, Object.keys(options))}?`);
  const hasValue = options[name].type === "string";
  if (hasValue && value === undefined) throw new UsageError(`${rawName} needs a value`);
  if (!hasValue && value !== undefined) throw new UsageError(`${rawName} takes no value`);
}

/** The whole number that an option's value says. */
export function wholeNumber(option, value, least, most = Number.MAX_SAFE_INTEGER) {
  const number = /^\d+$/.test(value) ? Number(value) : NaN;
  if (number >= least && number <= most) return number;
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  throw new UsageError(`${option} must be a whole number ${range}, got ${JSON.stringify(value)}`);
}

/** The number that an option's value says in decimals. */
export function decimalNumber(option, value, least, most) {
  const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`${option} must be a number from ${least} to ${most}, got ${JSON.stringify(value)}`);
}

/** The value of an option that is one of the known names. */
export function oneOf(option, value, known) {
  if (known.includes(value)) return value;
  throw new UsageError(`${option} must be one of ${known.join(", ")}, got ${JSON.stringify(value)}`);
}

/** The names in the value of an option, separated by commas. Each must be known, and is taken once. */
export const namesIn = (option, value, known) =>
  [...new Set(value.split(","))].map((name) => oneOf(option, name, known));

/** The file that an option names. Its folder must be there now: minutes of measuring must not be lost afterwards. */
export function fileToWrite(option, value) {
  const folder = path.dirname(path.resolve(value));
  if (value !== "" && existsSync(folder)) return value;
  throw new UsageError(`${option}: there is no folder ${folder} for the file ${JSON.stringify(value)}`);
}

function nearest(word, candidates) {
  return candidates.reduce((best, next) => (editDistance(word, next) < editDistance(word, best) ? next : best));
}

/** The Levenshtein distance: the fewest characters to insert, delete or replace. */
function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}
