// Jest runs the built package (`headwise` is dist/, found by package.json's own exports) and TypeScript tests.

import { TEST_MILLISECONDS } from "./hangLimits.mjs";

/** @type {import("jest").Config} */
export default {
  rootDir: "..",
  testEnvironment: "<rootDir>/tests/plainGlobals.mjs",
  testMatch: ["<rootDir>/tests/**/*.test.ts", "<rootDir>/tests/{web,bench}/*.test.mjs"],
  testSequencer: "<rootDir>/tests/slowFirst.mjs",
  globalSetup: "<rootDir>/tests/webgpu/softwareAdapter.mjs",
  extensionsToTreatAsEsm: [".ts", ".wgsl"],
  transform: {
    "\\.wgsl$": "<rootDir>/tests/webgpu/wgslText.mjs",
    "\\.ts$": "<rootDir>/tests/typescript.mjs",
  },
  // Sources import each other under the name that they have after compilation.
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  modulePathIgnorePatterns: ["<rootDir>/build/", "<rootDir>/dist-demo/"],
  testTimeout: TEST_MILLISECONDS,
};
