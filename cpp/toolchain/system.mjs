// Programs and headers that come from the system's own package manager.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

const TRIPLET = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";

/**
 * For each purpose: the Debian package, and a program or file that shows that it is installed. What is optional makes
 * something faster, and is left out where the system does not have it.
 */
const NEEDED = {
  wasm: [
    { name: "cmake", program: "cmake" },
    { name: "ninja-build", program: "ninja" },
    { name: "python3", program: "python3" }, // Emscripten's driver is written in it
  ],
  native: [
    { name: "g++", program: "g++" },
    { name: "libgtest-dev", file: "/usr/include/gtest/gtest.h" },
    { name: "clang", program: "clang++" }, // for the fuzzers
    { name: "libclang-rt-dev", file: "/usr/share/doc/libclang-rt-dev" }, // libFuzzer itself
    { name: "nlohmann-json3-dev", file: "/usr/include/nlohmann/json.hpp" }, // the tests read the case table with it
  ],
  lint: [
    { name: "clang-format", program: "clang-format" },
    { name: "clang-tidy", program: "clang-tidy" },
  ],
  browser: [
    { name: "chromium", program: "chromium" },
    { name: "chromium-headless-shell", program: "chromium-headless-shell", isOptional: true },
    { name: "libvulkan1", file: `/usr/lib/${TRIPLET}/libvulkan.so.1` }, // Dawn in Node reaches chromium's SwiftShader by it
  ],
  // A software adapter for the WebGPU of Deno.
  lavapipe: [{ name: "mesa-vulkan-drivers", file: "/usr/share/doc/mesa-vulkan-drivers" }],
  firefox: [{ name: "firefox-esr", program: "firefox-esr" }],
  webkit: [
    { name: "webkit2gtk-driver", program: "WebKitWebDriver" },
    { name: "xvfb", program: "xvfb-run" }, // WebKitGTK has no headless mode
    { name: "xauth", program: "xauth" },
  ],
};

/** Two stages of the tests may install something at the same time. */
const APT_OPTIONS = ["-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=300"];

/** Installs what is missing if that needs no password. Otherwise says what to install. */
export async function installSystemPackages(purposes, say) {
  const missing = purposes.flatMap((purpose) => NEEDED[purpose]).filter((item) => !isPresent(item));
  const names = missing.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  const canInstall = process.getuid?.() === 0 && isPresent({ program: "apt-get" });
  if (names.length === 0 && !(canInstall && missing.some(isOffered))) return;
  if (!canInstall) {
    throw new Error(
      `these are missing: ${names.join(" ")}\nOn Debian or Ubuntu: sudo apt-get install ${names.join(" ")}`,
    );
  }
  const apt = (...args) => {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    execFileSync("apt-get", ["-qq", ...APT_OPTIONS, ...args], { env, stdio: ["ignore", 2, 2] });
  };
  apt("update");
  names.push(...missing.filter((item) => item.isOptional && isOffered(item)).map(({ name }) => name));
  say(`installing ${names.join(", ")} with apt`);
  apt("install", "--yes", "--no-install-recommends", ...names);
}

/** Whether the system's package lists have it. */
function isOffered({ name }) {
  try {
    return execFileSync("apt-cache", ["show", "--quiet", name], { stdio: ["ignore", "pipe", "ignore"] }).length > 0;
  } catch {
    return false;
  }
}

function isPresent({ program, file }) {
  if (file) return existsSync(file);
  return (process.env.PATH ?? "").split(path.delimiter).some((folder) => existsSync(path.join(folder, program)));
}
