// The software bill of materials in CycloneDX: which parts of other projects are in the npm package. Each version is
// read from the files that were compiled or bundled, not from the requested version. There is no date and no serial
// number, so two builds of one commit give the same bytes.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { metafiles } from "./bundle.mjs";
import { build, dist, root } from "./paths.mjs";

/** @param {import("../../cpp/toolchain/emscripten.mjs").Toolchain} toolchain */
export function writeSbom(toolchain) {
  const { name, version, license, description } = manifestIn(root);
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...component("library", name, version, license), description, purl: npm(name, version) } },
    components: [...compiledIn(toolchain), ...bundled()].sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
  writeFileSync(path.join(dist, "sbom.cdx.json"), `${JSON.stringify(bill, undefined, 2)}\n`);
}

const component = (type, name, version, license) => ({ type, name, version, licenses: [licenseChoice(license)] });

const licenseChoice = (license) =>
  / (AND|OR|WITH) /.test(license) ? { expression: license } : { license: { id: license } };

const npm = (name, version) => `pkg:npm/${name.replace("@", "%40")}@${version}`;

const manifestIn = (folder) => JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));

/** The libraries and the runtime inside the wasm files and their loaders. */
function compiledIn({ root: emscripten, version, headers: prefix }) {
  // The toolchain has the headers in its prefix. Where it has none, CMake has found those of the system.
  const headers = (variable, ...places) =>
    places.map((place) => path.join(prefix, place)).find((folder) => existsSync(folder)) ??
    new RegExp(`^${variable}:PATH=(.*)$`, "m").exec(cmakeCache())[1];
  const system = path.join(emscripten, "system/lib");
  const eigen = path.join(headers("HEADWISE_EIGEN_DIR", "include/eigen3"), "Eigen/src/Core/util/Macros.h");
  const xsimd = path.join(headers("HEADWISE_XSIMD_DIR", "include"), "xsimd/config/xsimd_config.hpp");
  const llvm = llvmVersion(path.join(system, "libcxx/include/__config"));
  const llvmLicense = "Apache-2.0 WITH LLVM-exception";
  return [
    component(
      "library",
      "Eigen",
      numbers(eigen, ["EIGEN_WORLD_VERSION", "EIGEN_MAJOR_VERSION", "EIGEN_MINOR_VERSION"]),
      "MPL-2.0",
    ),
    component(
      "library",
      "xsimd",
      numbers(
        xsimd,
        ["MAJOR", "MINOR", "PATCH"].map((part) => `XSIMD_VERSION_${part}`),
      ),
      "BSD-3-Clause AND BSL-1.0",
    ),
    component("library", "Emscripten runtime", version, "MIT OR NCSA"),
    component("library", "musl", readFileSync(path.join(system, "libc/musl/VERSION"), "utf8").trim(), "MIT"),
    component("library", "dlmalloc", dlmallocVersion(path.join(system, "dlmalloc.c")), "CC0-1.0"),
    ...["libc++", "libc++abi", "compiler-rt"].map((name) => component("library", name, llvm, llvmLicense)),
  ];
}

const cmakeCache = () => readFileSync(path.join(build, "wasm/CMakeCache.txt"), "utf8");

/** A version number from the macros of a header. */
function numbers(header, macros) {
  const text = readFileSync(header, "utf8");
  return macros.map((macro) => new RegExp(`define ${macro} (\\d+)`).exec(text)[1]).join(".");
}

/** A version that is one number: 180100 is 18.1.0. */
function llvmVersion(header) {
  const number = Number(numbers(header, ["_LIBCPP_VERSION"]));
  return [number / 10_000, (number / 100) % 100, number % 100].map(Math.floor).join(".");
}

const dlmallocVersion = (file) => /Version (\d+\.\d+\.\d+)/.exec(readFileSync(file, "utf8"))[1];

/** The npm packages that have code in dist/*.js. */
function bundled() {
  const inputs = readdirSync(metafiles).flatMap((name) => {
    return Object.keys(JSON.parse(readFileSync(path.join(metafiles, name), "utf8")).inputs);
  });
  const folders = new Set(inputs.map((input) => /.*node_modules\/(@[^/]+\/)?[^/]+/.exec(input)?.[0]).filter(Boolean));
  return [...folders].map((folder) => {
    const { name, version, license } = manifestIn(path.join(root, folder));
    return { ...component("library", name, version, license), purl: npm(name, version) };
  });
}
