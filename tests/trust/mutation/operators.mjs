// The mutants of a C++ file: one operator of the list, at one place.

/** Operators: each is a name, what it looks for, and what may stand there instead. Code is formatted by clang-format. */
const OPERATORS = [
  ["relation", / (<=?|>=?|==|!=) /g, ([, sign]) => [` ${RELATIONS[sign]} `]],
  ["arithmetic", / ([-+*/%]) /g, ([, sign]) => [` ${ARITHMETIC[sign]} `]],
  ["assignment", / ([-+*|])= /g, ([, sign]) => [` ${ASSIGNMENTS[sign]}= `]],
  ["logic", / (&&|\|\|) /g, ([, sign]) => [sign === "&&" ? " || " : " && "]],
  ["negation", /(?<=[(\s])!(?=[\w(*])/g, () => [""]],
  ["condition", /\bif \(((?:[^();]|\((?:[^()]|\([^()]*\))*\))+)\)/g, ([, condition]) => [`if (!(${condition}))`]],
  ["off by one", /(?<![\w.])(\d+)(?![\w.'])/g, ([, digits]) => [String(Number(digits) + 1)]],
  ["constant", /(?<![\w.])(\d+\.\d+)(?=f?\b)/g, ([, digits]) => [Number(digits) === 0 ? "1.0" : "0.0"]],
  ["truth", /\b(true|false)\b/g, ([, word]) => [word === "true" ? "false" : "true"]],
  ["extreme", /\b(std|xsimd)::(min|max)\b/g, ([, space, word]) => [`${space}::${word === "min" ? "max" : "min"}`]],
  [
    "dropped statement",
    /^(?!.*\b(?:return|const|auto|using|for|case|struct)\b)\s*[\w:.[\]>*-]+(?:\(.*\)| [-+*|]?= .*);$/g,
    () => [";"],
  ],
];
const RELATIONS = { "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==" };
const ARITHMETIC = { "+": "-", "-": "+", "*": "+", "/": "*", "%": "/" };
const ASSIGNMENTS = { "+": "-", "-": "+", "*": "+", "|": "&" };

/** Lines that cannot change what is computed, and constants that choose only how fast it is. */
const UNTOUCHED = /^\s*(#|static_assert|assert\(|template|namespace|using)|^constexpr std::int64_t k|\boperator[<>=!]/;

/**
 * All mutants of a file.
 *
 * @param {string} file - its path
 * @param {string} text - its content
 * @returns {{ file: string, line: number, operator: string, before: string, after: string }[]} a line and what becomes of it
 */
export function mutantsOf(file, text) {
  const lines = text.split("\n");
  const code = withoutComments(text).split("\n");
  return code.flatMap((bare, n) => {
    if (UNTOUCHED.test(bare)) return [];
    return OPERATORS.flatMap(([operator, pattern, replacements]) =>
      [...bare.matchAll(pattern)].flatMap((match) =>
        replacements(match).map((replacement) => {
          const end = match.index + match[0].length;
          const after = lines[n].slice(0, match.index) + replacement + lines[n].slice(end);
          return { file, line: n + 1, operator, before: lines[n].trim(), after: after.trim() };
        }),
      ),
    );
  });
}

/** The file's text with the mutant in it. */
export function mutated(text, { line, before, after }) {
  const lines = text.split("\n");
  lines[line - 1] = lines[line - 1].replace(before, () => after);
  return lines.join("\n");
}

/** The text with blanks for comments and for what is in quotes; every character keeps its place. */
const withoutComments = (text) =>
  text.replace(/\/\/.*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"/g, (part) => part.replace(/[^\n]/g, " ")).replace(/ +$/gm, "");
