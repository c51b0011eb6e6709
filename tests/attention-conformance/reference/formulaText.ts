/**
 * The syntax of formulas, read and written independently of the package: a small parser by precedence. It reads correct
 * formulas only.
 */

export type Tree =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "element"; readonly table: string; readonly indices: readonly Tree[] }
  | { readonly kind: "unary"; readonly sign: string; readonly operand: Tree }
  | { readonly kind: "binary"; readonly sign: string; readonly left: Tree; readonly right: Tree }
  | { readonly kind: "call"; readonly name: string; readonly of: readonly Tree[] }
  | { readonly kind: "choice"; readonly test: Tree; readonly yes: Tree; readonly no: Tree };

const STRENGTH: Readonly<Record<string, number>> = {
  "||": 1,
  "&&": 2,
  "==": 3,
  "!=": 3,
  "===": 3,
  "!==": 3,
  "<": 4,
  "<=": 4,
  ">": 4,
  ">=": 4,
  "+": 5,
  "-": 5,
  "*": 6,
  "/": 6,
  "%": 6,
  "**": 7,
};

const TOKEN =
  /\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_$][\w$]*)|(===|!==|\*\*|[<>=!]=|&&|\|\||[-+*/%<>!?:,()[\]]))/y;

interface Token {
  readonly text: string;
  readonly kind: "number" | "name" | "sign" | "end";
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let end = 0; text.slice(end).trim() !== ""; end = TOKEN.lastIndex) {
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`no token at ${end} of ${text}`);
    const [, number, name, sign] = match;
    found.push({ text: (number ?? name ?? sign)!, kind: number ? "number" : name ? "name" : "sign" });
  }
  return [...found, { text: "", kind: "end" }];
}

/** The tree of a formula. */
export function treeOf(text: string): Tree {
  const all = tokens(text);
  let next = 0;
  const is = (sign: string) => all[next]!.kind === "sign" && all[next]!.text === sign;
  const take = (sign: string) => {
    if (!is(sign)) throw new Error(`${sign} is missing before ${all[next]!.text} in ${text}`);
    ++next;
  };
  const list = (close: string): Tree[] => {
    const parts = [choice()];
    while (is(",")) {
      take(",");
      parts.push(choice());
    }
    take(close);
    return parts;
  };
  const primary = (): Tree => {
    const { text: token, kind } = all[next++]!;
    if (kind === "number") return { kind: "number", value: Number(token) };
    if (kind === "sign" && token === "(") return list(")")[0]!;
    if (kind === "sign" && ["-", "+", "!"].includes(token)) return { kind: "unary", sign: token, operand: primary() };
    if (kind !== "name") throw new Error(`unexpected ${token} in ${text}`);
    if (token === "true" || token === "false") return { kind: "boolean", value: token === "true" };
    if (is("(")) {
      take("(");
      return { kind: "call", name: token, of: list(")") };
    }
    const indices: Tree[] = [];
    while (is("[")) {
      take("[");
      indices.push(...list("]"));
    }
    return indices.length > 0 ? { kind: "element", table: token, indices } : { kind: "name", name: token };
  };
  const binary = (least: number): Tree => {
    let left = primary();
    for (;;) {
      const sign = all[next]!.text;
      const strength = all[next]!.kind === "sign" ? (STRENGTH[sign] ?? 0) : 0;
      if (strength < least || strength === 0) return left;
      ++next;
      left = { kind: "binary", sign, left, right: binary(sign === "**" ? strength : strength + 1) };
    }
  };
  const choice = (): Tree => {
    const test = binary(1);
    if (!is("?")) return test;
    take("?");
    const yes = choice();
    take(":");
    return { kind: "choice", test, yes, no: choice() };
  };
  const tree = choice();
  if (all[next]!.kind !== "end") throw new Error(`unexpected ${all[next]!.text} in ${text}`);
  return tree;
}

/** The text of a tree, with parentheses around every operation. */
export function textOf(tree: Tree): string {
  switch (tree.kind) {
    case "number":
      return tree.value < 0 || Object.is(tree.value, -0) ? `(-${-tree.value})` : String(tree.value);
    case "boolean":
      return String(tree.value);
    case "name":
      return tree.name;
    case "element":
      return tree.table + tree.indices.map((index) => `[${textOf(index)}]`).join("");
    case "unary":
      return `(${tree.sign}${textOf(tree.operand)})`;
    case "binary":
      return `(${textOf(tree.left)} ${tree.sign} ${textOf(tree.right)})`;
    case "call":
      return `${tree.name}(${tree.of.map(textOf).join(", ")})`;
    case "choice":
      return `(${textOf(tree.test)} ? ${textOf(tree.yes)} : ${textOf(tree.no)})`;
  }
}
