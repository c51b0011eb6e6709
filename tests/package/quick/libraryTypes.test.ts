// The types in projects of other kinds than an application for pages: a library that writes declarations of its own, a
// program for Node without the types of the DOM, CommonJS with JSX.

import { writeFile } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import ts from "typescript";

import { emptyConsumer, type Consumer } from "../consumer.js";

const PAGES = ["formula", "onnx", "train", "models", "inspect", "viz", "react"].map((entry) => `headwise/${entry}`);
const WITHOUT_DOM = ["worker", "inline", "webgpu", "formula", "onnx", "train", "models", "inspect"];
const types = path.resolve("node_modules/@types");

let consumer: Consumer;
beforeAll(async () => (consumer = await emptyConsumer()));
afterAll(() => consumer.remove());

/** A strict program of one file, which reads the declarations of the package too. */
async function program(name: string, text: string, options: ts.CompilerOptions): Promise<ts.Program> {
  const file = path.join(consumer.folder, name);
  await writeFile(file, text);
  const usual = { strict: true, skipLibCheck: false, target: ts.ScriptTarget.ES2022, types: [], typeRoots: [types] };
  const own = { paths: { react: [path.join(types, "react")] }, outDir: path.join(consumer.folder, "out") };
  return ts.createProgram([file], { ...usual, ...own, module: ts.ModuleKind.Node16, ...options });
}

const complaints = (made: ts.Program) =>
  ts
    .getPreEmitDiagnostics(made)
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);

const DOM = { lib: ["lib.es2022.d.ts", "lib.dom.d.ts"] };
const importAll = (entries: readonly string[]) =>
  entries.map((entry, n) => `import * as e${n} from "${entry}"; export { e${n} };`).join("\n");

test("a library may export all that an entry gives, and its members, without writing types", async () => {
  const entries = ["headwise", ...PAGES];
  const made = await program("names.mts", importAll(entries), DOM);
  const checker = made.getTypeChecker();
  const { statements } = made.getSourceFile(path.join(consumer.folder, "names.mts"))!;
  const values = statements.filter(ts.isImportDeclaration).flatMap(({ moduleSpecifier }, n) =>
    checker.getExportsOfModule(checker.getSymbolAtLocation(moduleSpecifier)!).flatMap((symbol) => {
      const meant = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const name = `e${n}.${symbol.name}`;
      const { members = new Map<ts.__String, ts.Symbol>() } = meant;
      const isGeneric = checker.getDeclaredTypeOfSymbol(meant).symbol?.declarations?.some(hasTypeParameters);
      const own = isGeneric ? [] : [...members.values()].filter(({ name: member }) => /^[a-z]\w*$/i.test(member));
      const isValue = meant.flags & (ts.SymbolFlags.Variable | ts.SymbolFlags.Function);
      return [...(isValue ? [name] : []), ...own.map((member) => `(null! as ${name})["${member.name}"]`)];
    }),
  );
  expect(values.length).toBeGreaterThan(500);
  const exported = values.map((value, n) => `export const v${n} = ${value};`).join("\n");
  const library = await program("library.mts", `${importAll(entries)}\n${exported}`, { ...DOM, declaration: true });
  expect(complaints(library)).toEqual([]);
});

const hasTypeParameters = (declaration: ts.Declaration) =>
  ((declaration as ts.InterfaceDeclaration).typeParameters?.length ?? 0) > 0;

test("a program for Node needs no types of the DOM", async () => {
  const entries = ["headwise", ...WITHOUT_DOM.map((entry) => `headwise/${entry}`)];
  const options = { lib: ["lib.es2022.d.ts"], types: ["node"] };
  expect(complaints(await program("node.mts", importAll(entries), options))).toEqual([]);
});

test("CommonJS gets the elements for React's JSX", async () => {
  const made = await program("elements.cts", 'import type {} from "headwise/viz/react";', DOM);
  expect(complaints(made)).toEqual([]);
});
