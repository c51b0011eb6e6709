import { writeFile } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll, test } from "@jest/globals";

import { emptyConsumer, type Consumer } from "./consumer.js";
import { listings } from "./listings.js";
import { run } from "./programs.js";

/** What TypeScript 5 and 6 call the ways to find a module. */
export const RESOLUTIONS = ["bundler", "nodenext", "node16", "node10"];

/** Strict TypeScript in a project of its own; the compiler says what it does not accept, and what it wrongly accepts. */
export function testStrictTypes(compiler: string, resolutions: readonly string[]): void {
  let consumer: Consumer;
  beforeAll(async () => {
    consumer = await emptyConsumer();
    await consumer.add("typescript");
  });
  afterAll(() => consumer.remove());

  test.each(resolutions)("every entry is accepted with moduleResolution %s", async (resolution) => {
    await run(process.execPath, [compiler, "--project", `tsconfig.${resolution}.json`], { cwd: consumer.folder });
  });

  test("declarations bring the libraries that they need beyond ES2022 and the DOM", async () => {
    const entries = ["", "/worker", "/inline", "/webgpu", "/formula", "/onnx", "/train", "/models", "/inspect", "/viz"];
    const program = entries.map((entry, n) => `export * as e${n} from "headwise${entry}";`).join("\n");
    await writeFile(path.join(consumer.folder, "plain.ts"), program);
    const options = {
      target: "es2022",
      lib: ["es2022", "dom"],
      module: "esnext",
      moduleResolution: "bundler",
      types: [],
    };
    const config = { compilerOptions: { ...options, strict: true, noEmit: true }, files: ["plain.ts"] };
    await writeFile(path.join(consumer.folder, "tsconfig.plain.json"), JSON.stringify(config));
    await run(process.execPath, [compiler, "--project", "tsconfig.plain.json"], { cwd: consumer.folder });
  });

  test("the listing of the page on TypeScript is accepted with the settings there", async () => {
    for (const name of ["tsconfig.json", "example.ts"])
      await writeFile(path.join(consumer.folder, name), listings.get(name)!);
    await run(process.execPath, [compiler], { cwd: consumer.folder });
  });
}
