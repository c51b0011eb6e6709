// Runs tests of WebGPU in Deno, whose WebGPU is wgpu with the shader compiler naga, as Firefox has them. The adapter is
// Mesa's lavapipe, which computes on the CPU and has shader-f16. What cannot be installed here is skipped with a sentence.

import { existsSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { setUp } from "../../cpp/toolchain/setup.mjs";
import { add, nothing, oneFailed } from "./counts.mjs";
import { installPackages } from "./packages.mjs";
import { build, root } from "./paths.mjs";
import { ended, say, start } from "./run.mjs";

/** A sample of what runs in Node: caches, layers, stored weights, tensors of the caller, lengths, magnitudes, gradients. */
const SAMPLE = [
  "magnitudes",
  "randomLengths",
  "cache",
  "gpuTensors",
  "layer",
  "linear",
  "layerBackward",
  "backward",
  "step",
];
const DRIVERS = "/usr/share/vulkan/icd.d";
/** A test that takes longer hangs. */
const TEST_MILLISECONDS = 300_000;

/** Every file that computes and needs neither Node's Jest nor Dawn: `npm run trust -- --only=engines` runs all of them. */
export const ALL_ON_WGPU = [
  ...SAMPLE,
  "attendInside",
  "attention",
  "dropout",
  "formula",
  "formulaNumbers",
  "formulaPlaces",
  "formulaReference",
  "layerEncode",
  "layerPatch",
  "layerPlaces",
  "layerViews",
  "ownAngles",
  "ownPositions",
  "projection",
  "randomAttention",
  "tilings",
  "transfer",
];

const skipped = (reason) => {
  say(`wgpu: skipped: ${reason}`);
  return { ...nothing, skipped: 1 };
};

/** @param {string[]} [files] - of tests/webgpu/, without their endings */
export async function wgpuTests(files = SAMPLE) {
  const folder = path.join(root, "tests/wgpu");
  try {
    await setUp(["lavapipe"]);
    await installPackages({ folder });
  } catch (error) {
    return skipped(error.message);
  }
  const deno = path.join(folder, `node_modules/@deno/${process.platform}-${process.arch}-glibc/deno`);
  const driver = existsSync(DRIVERS) && readdirSync(DRIVERS).find((name) => name.startsWith("lvp_"));
  if (!existsSync(deno) || !driver) return skipped("Deno or lavapipe does not exist for this system");
  const { bundleTest } = await import("../../tests/wgpu/bundle.mjs"); // needs the packages
  const out = path.join(build, "wgpu");
  mkdirSync(out, { recursive: true });
  // wgpu wants a folder of its own; usual runs take a tenth of the random calls, and a sample of them is enough here.
  const env = {
    ...process.env,
    VK_ICD_FILENAMES: path.join(DRIVERS, driver),
    XDG_RUNTIME_DIR: mkdtempSync(path.join(tmpdir(), "headwise-wgpu-")),
    DENO_NO_UPDATE_CHECK: "1",
  };
  let total = nothing;
  for (const name of files) {
    const file = path.join(out, `${name}.mjs`);
    await bundleTest(name, file);
    total = add(total, await countsOf(name, deno, file, env));
  }
  return total;
}

async function countsOf(name, deno, file, env) {
  const runner = path.join(root, "tests/wgpu/run.mjs");
  const args = ["run", "--allow-all", "--unstable-webgpu", runner, file, String(TEST_MILLISECONDS)];
  const child = start(deno, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
  const status = await ended(child);
  const last = printed.trim().split("\n").at(-1);
  if (status !== 0 || !last?.startsWith("{")) {
    say(`wgpu: ${name}: Deno ended with ${status}: ${printed.slice(-2000)}`);
    return oneFailed;
  }
  const counts = JSON.parse(last);
  if (counts.notRun) return skipped(counts.notRun);
  say(`wgpu: ${name}: ${counts.passed} passed, ${counts.failed} failed`);
  return counts;
}
