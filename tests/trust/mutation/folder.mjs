import path from "node:path";

import { build } from "../../../web/build/paths.mjs";

/** Where the copies of the repository, the C++ build and the report are. */
export const mutationFolder = path.join(build, "mutation");
