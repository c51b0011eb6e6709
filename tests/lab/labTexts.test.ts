// The texts of the lab. The code says them in English, as t`…`; a file for each other language says them all.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "@jest/globals";
import ts from "typescript";

import { percent } from "../../web/demo/model/links.js";
import { GERMAN } from "../../web/demo/texts/de.js";
import { PERCENT } from "../../web/demo/texts/percent.js";
import { t } from "../../web/demo/texts/t.js";
import { type Texts } from "../../web/demo/texts/texts.js";

const DEMO = fileURLToPath(new URL("../../web/demo/", import.meta.url));

/** Nouns that are counted, whose names are values of the code. */
const OTHER_NOUNS = ["character", "word", "other character", "other word", "shape", "engine", "device"];

/** A noun that is counted, and its plural. */
const nouns = (noun: string, plural = `${noun}s`) => [`{0} ${noun}`, `{0} ${plural}`];

/** Every text that the code says, with numbers for its values. */
const english = new Set([
  ...readdirSync(DEMO, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => textsOf(path.join(DEMO, file))),
  ...OTHER_NOUNS.flatMap((noun) => nouns(noun)),
]);

function textsOf(file: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === "t") found.push(textOf(node.template));
    if (ts.isCallExpression(node) && node.expression.getText() === "counted") found.push(...nounsOf(node));
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true));
  return found;
}

function textOf(template: ts.TemplateLiteral): string {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.text;
  return template.templateSpans.reduce((text, { literal }, i) => `${text}{${i}}${literal.text}`, template.head.text);
}

function nounsOf({ arguments: [, ...names] }: ts.CallExpression): string[] {
  const said = names.filter(ts.isStringLiteral).map(({ text }) => text);
  return said.length > 0 && said.length === names.length ? nouns(said[0]!, said[1]) : [];
}

const valuesOf = (text: string) => [...new Set(text.match(/\{\d+\}/g))].sort().join();

describe.each<[string, Texts]>([["German", GERMAN]])("%s", (_, texts) => {
  test("has every text of the lab", () => {
    expect([...english].filter((text) => texts[text] === undefined)).toEqual([]);
  });

  test("has no text that nothing says", () => {
    expect(Object.keys(texts).filter((text) => !english.has(text))).toEqual([]);
  });

  test("says the values of each text", () => {
    const wrong = Object.entries(texts).filter(([text, said]) => valuesOf(text) !== valuesOf(said));
    expect(wrong).toEqual([]);
  });
});

test("no line breaks between a number and its percent sign", () => {
  expect(t`from ${`5${PERCENT}`} to 100 %, ${7} %`).toBe("from 5\u00a0% to 100\u00a0%, 7\u00a0%");
  expect(percent(0.66)).toBe("66\u00a0%");
  const breaking = readdirSync(DEMO, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && file.startsWith("lab/"))
    .filter((file) => /(?<!t)`[^`\n ]*\} %[`.,)]/.test(readFileSync(path.join(DEMO, file), "utf8")));
  expect(breaking).toEqual([]);
});

test("no line breaks in 1/√D in German", () => {
  expect(Object.values(GERMAN).filter((said) => said.includes("/√"))).toEqual([]);
});
