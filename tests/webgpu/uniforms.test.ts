// WGSL asks that a struct inside a uniform begins at a multiple of 16 bytes (section "Address space layout constraints").
// Dawn offers to do without; Firefox 153 refuses such a shader.

import { readdirSync, readFileSync } from "node:fs";

import { expect, test } from "@jest/globals";

const FOLDER = "web/src/webgpu/kernels/";
const sources = readdirSync(FOLDER).filter((name) => /var<uniform>/.test(readFileSync(FOLDER + name, "utf8")));

/** The members of each struct of a source: "name: type", with attributes. */
function structsIn(source: string): ReadonlyMap<string, readonly string[]> {
  const plain = source.replace(/\/\/.*$/gm, "");
  const found = [...plain.matchAll(/struct (\w+) \{([^}]*)\}/g)];
  return new Map(found.map(([, name, body]) => [name!, body!.split(/,\s*\n/).map((member) => member.trim())]));
}

const isAligned = (members: readonly string[]) => members.some((member) => /@align\(16\)|: (vec[34]|mat)/.test(member));

test.each(sources)("%s has no struct in a uniform that base WGSL refuses", (name) => {
  const source = readFileSync(FOLDER + name, "utf8");
  const structs = structsIn(source);
  const uniforms = [...source.matchAll(/var<uniform> \w+: (\w+)/g)].map(([, type]) => type!);
  const inside = uniforms.flatMap((type) => structs.get(type) ?? []).map((member) => member.split(": ")[1] ?? "");
  const refused = inside.filter(
    (type) => type.startsWith("array") || (structs.has(type) && !isAligned(structs.get(type)!)),
  );
  expect(refused).toEqual([]);
});
