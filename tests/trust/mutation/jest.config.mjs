// Jest for mutants, in the copy of the repository: the project's configuration with another environment and order.

import base from "../../jest.config.mjs";

/** @type {import("jest").Config} */
export default {
  ...base,
  rootDir: "../../..",
  testEnvironment: "<rootDir>/tests/trust/mutation/environment.mjs",
  testSequencer: "<rootDir>/tests/trust/mutation/sequencer.mjs",
};
