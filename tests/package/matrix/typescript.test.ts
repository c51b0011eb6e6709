import { describe } from "@jest/globals";

import { tool } from "../consumer.js";
import { testStrictTypes } from "../typescriptProject.js";

describe("the newest TypeScript", () => testStrictTypes(tool("typescript/bin/tsc")));
