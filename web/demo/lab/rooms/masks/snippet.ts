import { literal } from "../../shell/snippets.js";
import { compile } from "./compile.js";
import { HEAD_DIM, kvHeadsOf, optionsOf } from "./options.js";
import { parametersOf, readParameters, type Given } from "./parameters.js";
import type { Settings } from "./settings.js";

/** The call that the room makes, as a program. */
export function snippet(settings: Settings): string {
  const { queries, keys, heads } = settings;
  const formulas = formulaLines(settings);
  const lines = Object.values(formulas).join("");
  const names = Object.keys(formulas).map((name) => `  ${name},\n`);
  const options = literal({ ...optionsOf(settings), returns: { probs: true, lse: true, entropy: true } });
  return `import { createAttention } from "headwise";
${lines && 'import { formula } from "headwise/formula";\n'}
const hw = await createAttention();
const random = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((n, extent) => n * extent, 1) }, () => Math.random() * 2 - 1),
  shape,
});
const query = random(1, ${heads}, ${queries}, ${HEAD_DIM}); // batch, heads, tokens, features
const [key, value] = [random(1, ${kvHeadsOf(settings)}, ${keys}, ${HEAD_DIM}), random(1, ${kvHeadsOf(settings)}, ${keys}, ${HEAD_DIM})];
${lines}const { output, probs, lse, entropy } = await hw.scaledDotProductAttention(query, key, value, {
${names.join("")}${options.slice(2)});
console.log(output.shape, probs.shape, lse.shape, entropy.data);
await hw.dispose();
`;
}

/** A line for each formula, by its name. A formula that is wrong is no part of the program. */
function formulaLines(settings: Settings): Readonly<Record<string, string>> {
  if (settings.rules === "options") return {};
  const { compiled } = compile(settings);
  const given = Object.keys(compiled).length > 0 ? readParameters(settings.parameters) : {};
  const names = (["visible", "score"] as const).filter((name) => compiled[name]);
  return Object.fromEntries(
    names.map((name) => [name, formulaLine(name, settings[name], parametersOf(settings[name], given))]),
  );
}

function formulaLine(name: string, text: string, parameters: Readonly<Record<string, Given>>): string {
  const written = Object.entries(parameters).map(([own, value]) => `${own}: ${parameterLiteral(value)}`);
  return `const ${name} = formula(${JSON.stringify(text)}${written.length > 0 ? `, { ${written.join(", ")} }` : ""});\n`;
}

function parameterLiteral(value: Given): string {
  return typeof value === "number" ? String(value) : `[${value.map(parameterLiteral).join(", ")}]`;
}
