import { describeWith, tool } from "../tools.js";
import { testStrictTypes } from "../typescriptProject.js";

const compiler = tool("typescript7/bin/tsc");

describeWith([compiler], "the newest TypeScript", () => testStrictTypes(compiler));
