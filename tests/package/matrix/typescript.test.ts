import { describeWith, tool } from "../tools.js";
import { RESOLUTIONS, testStrictTypes } from "../typescriptProject.js";

const compiler = tool("typescript7/bin/tsc");

// TypeScript 7 refuses node10 as an option that was removed
const resolutions = RESOLUTIONS.filter((resolution) => resolution !== "node10");
describeWith([compiler], "the newest TypeScript", () => testStrictTypes(compiler, resolutions));
