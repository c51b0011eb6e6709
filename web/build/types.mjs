// The declarations of web/src → dist/types: a file for each entry of the package, and files that they share.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";

import { CONFIGURATION, ENTRIES } from "./bundle.mjs";
import { build, dist, root } from "./paths.mjs";
import { run } from "./run.mjs";
import { whenStale } from "./stale.mjs";

/** Writes the public types: a file for each entry, and files that they share. */
export async function emitTypes() {
  const inputs = ["web/src", "web/tsconfig.json", "web/tsconfig.types.json", "web/build/types.mjs", ...CONFIGURATION];
  const typesOf = (name) => `dist/types/${name}.d.ts`;
  const outputs = ["dist/types/index.d.ts", ...REQUIRED.map(typesOf)];
  await whenStale("types", { inputs, outputs }, async () => {
    const single = path.join(build, "types");
    for (const folder of [single, path.join(dist, "types")]) rmSync(folder, { recursive: true, force: true });
    await run(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "web/tsconfig.types.json"]);
    await bundleTypes(path.join(single, "entries"));
    // TypeScript looks for a file of its own for each way to load a module. A module may import CommonJS, but not the other
    // way round, so the types are those of `require`, and `import` gives them too.
    for (const name of REQUIRED) writeFileSync(path.join(root, typesOf(name)), `export * from "./${name}.cjs";\n`);
    const forJsx = readFileSync(path.join(root, "web/src/entries/vizReact.d.ts"), "utf8");
    writeFileSync(path.join(dist, "types/vizReact.d.cts"), forJsx.replace("./viz.js", "./viz.cjs"));
  });
}

/** The entries whose types are public. Those for Node have the types of pages. */
const TYPED = ENTRIES.filter(
  ({ file }) => file.endsWith(".js") && !/\.node\.|worker-entry|(webgpu|auto)-engine/.test(file),
);

/** The names of the entries that have a build for `require`. */
const REQUIRED = ENTRIES.filter(({ file }) => file.endsWith(".cjs")).map(({ file }) => path.basename(file, ".cjs"));

const REFERENCE = /^\/\/\/ <reference .*\/>\n/gm;

/** TypeScript reads a reference to a library at the top of a file only. Joined files have theirs in the middle. */
const referencesFirst = {
  name: "references-first",
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue;
      const references = new Set(file.code.match(REFERENCE));
      file.code = [...references].join("") + file.code.replace(REFERENCE, "");
    }
  },
};

/** @param folder - The declarations of the entries, as TypeScript writes them. */
async function bundleTypes(folder) {
  const names = TYPED.map(({ file }) => path.basename(file, ".js"));
  const bundle = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, path.join(folder, `${name}.d.ts`)])),
    cwd: root,
    external: [/^react/, /^headwise/],
    plugins: [dts({ dtsInput: true }), referencesFirst],
  });
  await bundle.write({
    dir: path.join(dist, "types"),
    entryFileNames: ({ name }) => (REQUIRED.includes(name) ? "[name].d.cts" : "[name].d.ts"),
    chunkFileNames: "shared/[name]-[hash].d.cts",
  });
  await bundle.close();
}
