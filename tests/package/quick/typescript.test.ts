import path from "node:path";

import { describe } from "@jest/globals";

import { RESOLUTIONS, testStrictTypes } from "../typescriptProject.js";

describe("the repository's TypeScript", () =>
  testStrictTypes(path.resolve("node_modules/typescript/bin/tsc"), RESOLUTIONS));
