// Values as `console.log` of Node writes them, so that a reader sees what the comments `// prints: …` promise.

/** Lists and objects that are longer get a line for each entry. */
const LINE = 72;
/** More entries of a list are only counted. */
const MOST_ENTRIES = 100;
/** Objects further inside are only named. */
const MOST_LEVELS = 3;

export const printed = (values: readonly unknown[]): string =>
  values.map((value) => (typeof value === "string" ? value : shown(value, 0))).join(" ");

function shown(value: unknown, level: number): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return value.name ? `[Function: ${value.name}]` : "[Function (anonymous)]";
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (Array.isArray(value)) return list("", value, level);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const numbers = value as unknown as ArrayLike<number>;
    return list(`${value.constructor.name}(${numbers.length}) `, numbers, level);
  }
  return object(value, level);
}

function list(title: string, values: ArrayLike<unknown>, level: number): string {
  if (values.length === 0) return `${title}[]`;
  if (level >= MOST_LEVELS) return title || "[Array]";
  const entries = Array.from({ length: Math.min(values.length, MOST_ENTRIES) }, (_, n) => shown(values[n], level + 1));
  const more = values.length - entries.length;
  return `${title}${enclosed("[", more > 0 ? [...entries, `... ${more} more items`] : entries, "]")}`;
}

function object(value: object, level: number): string {
  const { name } = (Object.getPrototypeOf(value) as object | null)?.constructor ?? { name: "[Object: null prototype]" };
  const title = name === "Object" ? "" : `${name} `;
  if (level >= MOST_LEVELS) return `[${name}]`;
  const entries = Object.entries(value).map(([key, each]) => `${keyOf(key)}: ${shown(each, level + 1)}`);
  return entries.length === 0 ? `${title}{}` : `${title}${enclosed("{", entries, "}")}`;
}

function enclosed(open: string, entries: readonly string[], close: string): string {
  const line = `${open} ${entries.join(", ")} ${close}`;
  if (line.length <= LINE && !line.includes("\n")) return line;
  return `${open}\n${entries.map((entry) => `  ${entry.replaceAll("\n", "\n  ")}`).join(",\n")}\n${close}`;
}

const keyOf = (key: string) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key));

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  return `${quote}${text.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`).replaceAll("\n", "\\n")}${quote}`;
}
