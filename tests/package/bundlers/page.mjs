// The page beside its bundle, for bundlers that know scripts only.

import { copyFile } from "node:fs/promises";
import path from "node:path";

export const copyPage = (folder) => copyFile(path.join(folder, "index.html"), path.join(folder, "site/index.html"));
