// WGSL → SPIR-V, by Dawn on a software adapter → an AMD GPU's assembly, by Mesa's compiler. No GPU is needed.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const runProgram = promisify(execFile);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const BIG = { maxBuffer: 2 ** 28 };

/** What is needed, and the Debian package that has it. */
const FILES = {
  "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json": "mesa-vulkan-drivers",
  "/usr/include/vulkan/vulkan.h": "libvulkan-dev",
  "/usr/bin/spirv-as": "spirv-tools",
  "/usr/lib/chromium/vk_swiftshader_icd.json": "chromium",
  "/usr/bin/gcc": "gcc",
};
const [RADEON, , , SWIFTSHADER] = Object.keys(FILES);

/** The Debian packages that are missing here. */
export const missingPackages = () =>
  Object.keys(FILES)
    .filter((file) => !existsSync(file))
    .map((file) => FILES[file]);

export async function openCompiler() {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-isa-"));
  const file = (name) => path.join(folder, name);
  const environment = (driver) => ({ ...process.env, XDG_RUNTIME_DIR: folder, VK_ICD_FILENAMES: driver });
  await runProgram("gcc", ["-O1", "-o", file("compile"), here("compile.c"), "-lvulkan"]);
  return {
    /** Returns the shader's SPIR-V file, and its bindings as compile.c wants them. */
    async toSpirv(name, wgsl) {
      writeFileSync(file(`${name}.wgsl`), wgsl);
      const env = environment(SWIFTSHADER);
      const { stdout, stderr } = await runProgram(process.execPath, [here("toSpirv.mjs"), file(`${name}.wgsl`)], { env, ...BIG }); // oxfmt-ignore
      const text = spirvIn(stdout + stderr);
      writeFileSync(file(`${name}.spvasm`), text);
      const spirv = file(`${name}.spv`);
      await runProgram("spirv-as", ["--target-env", "vulkan1.2", file(`${name}.spvasm`), "-o", spirv]);
      return { name, spirv, bindings: bindingsIn(text) };
    },
    /** Returns the statistics and the listing for a family of GPUs, such as NAVI21, with waves of 64 lanes. */
    async toAssembly({ name, spirv, bindings }, family) {
      const listing = file(`${name}.${family}.txt`);
      const env = { ...environment(RADEON), RADV_FORCE_FAMILY: family };
      const { stdout } = await runProgram(file("compile"), [spirv, bindings, listing], { env, ...BIG });
      return { statistics: JSON.parse(stdout), listing: readFileSync(listing, "utf8") };
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** The SPIR-V text in what Dawn prints. It ends where Dawn's next message begins. */
function spirvIn(output) {
  const [, text] =
    /\/\* Dumped SPIRV disassembly \*\/\n(.*?)(?=^(?:info|warning|error):|$(?![^]))/ms.exec(output) ?? [];
  if (!text) throw new Error(`Dawn printed no SPIR-V:\n${output.slice(-2000)}`);
  return text;
}

function bindingsIn(spirv) {
  const letters = [];
  for (const [, variable, binding] of spirv.matchAll(/OpDecorate (%\w+) Binding (\d+)/g))
    letters[binding] = spirv.includes(`${variable} = OpVariable %_ptr_Uniform_`) ? "u" : "s";
  return Array.from(letters, (letter) => letter ?? "-").join("");
}
