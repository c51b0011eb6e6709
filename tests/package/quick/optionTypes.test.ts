// What a caller passes may be undefined: `signal: maybeSignal` compiles, also with exactOptionalPropertyTypes. This test
// walks through the shipped types. From a function it goes to its parameters, and from a parameter to its properties.

import { readFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "@jest/globals";
import ts from "typescript";

const types = path.resolve("dist/types");

const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
  exports: Readonly<Record<string, { readonly types?: string }>>;
};

/** The types of viz/react are those of viz, and need React's. */
const entries = Object.entries(exports).flatMap(([name, { types }]) =>
  types === undefined || name === "./viz/react" ? [] : [path.resolve(types)],
);

const program = ts.createProgram(entries, {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
  types: [],
});
const checker = program.getTypeChecker();

/** The declarations of a property, if they are in the package. */
const ownDeclarations = (property: ts.Symbol): ts.Declaration[] =>
  (property.declarations ?? []).filter((declaration) => declaration.getSourceFile().fileName.startsWith(types));

/** Only the library makes instances of its classes. */
const isOfClass = (declaration: ts.Declaration) => ts.isClassDeclaration(declaration.parent);

const constraintOf = (type: ts.Type) => {
  const constraint = checker.getBaseConstraintOfType(type);
  return constraint === type ? undefined : constraint;
};

function acceptsUndefined(type: ts.Type): boolean {
  if (type === checker.getUndefinedType() || type.flags & ts.TypeFlags.Unknown) return true;
  const parts = type.isUnion() ? type.types : [constraintOf(type)];
  return parts.some((part) => part !== undefined && acceptsUndefined(part));
}

/** The optional properties of what is passed that cannot be undefined. */
const refusals = new Set<string>();
let numOptions = 0;

const seen = { passed: new Set<ts.Type>(), given: new Set<ts.Type>() };

/** `passed`: the caller makes a value of this type. `given`: the library makes it. */
type Direction = keyof typeof seen;

function walk(type: ts.Type, direction: Direction): void {
  if (seen[direction].has(type)) return;
  seen[direction].add(type);
  const constraint = constraintOf(type);
  const parts = type.isUnionOrIntersection() ? type.types : [];
  const isGeneric = type.flags & ts.TypeFlags.Object && (type as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference;
  const elements = isGeneric ? checker.getTypeArguments(type as ts.TypeReference) : [];
  for (const part of [...(constraint ? [constraint] : []), ...parts, ...elements]) walk(part, direction);
  for (const signature of type.getCallSignatures()) walkSignature(signature, direction);
  for (const property of type.getProperties()) walkProperty(property, direction);
}

function walkProperty(property: ts.Symbol, direction: Direction): void {
  const [declaration] = ownDeclarations(property);
  if (!declaration) return;
  const type = checker.getTypeOfSymbol(property);
  const isOption = direction === "passed" && property.flags & ts.SymbolFlags.Optional;
  if (isOption) ++numOptions;
  if (isOption && !acceptsUndefined(type)) refusals.add(nameOf(property, declaration));
  if (direction === "given" || !isOfClass(declaration)) walk(type, direction);
}

function walkSignature(signature: ts.Signature, direction: Direction): void {
  const other = direction === "passed" ? "given" : "passed";
  for (const parameter of signature.getParameters()) walk(checker.getTypeOfSymbol(parameter), other);
  walk(signature.getReturnType(), direction);
}

function nameOf(property: ts.Symbol, declaration: ts.Declaration): string {
  const owner = (declaration.parent as Partial<ts.InterfaceDeclaration>).name?.text ?? "";
  return `${path.relative(types, declaration.getSourceFile().fileName)}: ${owner}.${property.name}`;
}

function walkExport(exported: ts.Symbol): void {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  if (symbol.flags & ts.SymbolFlags.Value) walk(checker.getTypeOfSymbol(symbol), "given");
  if (symbol.flags & ts.SymbolFlags.Class) walk(checker.getDeclaredTypeOfSymbol(symbol), "given");
  if (/(Options|Props)$/.test(symbol.name)) walk(checker.getDeclaredTypeOfSymbol(symbol), "passed");
}

test("no option refuses undefined", () => {
  for (const entry of entries)
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)!)!))
      walkExport(exported);
  expect([...refusals]).toEqual([]);
  expect(numOptions).toBeGreaterThan(300);
});
