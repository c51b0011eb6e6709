// Gives the sources the version of the package, as the build does. Import it before the sources.

import { readFileSync } from "node:fs";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};
Object.assign(globalThis, { HEADWISE_VERSION: version });
