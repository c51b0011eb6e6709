// What a user of a bundler that leaves assets alone copies by hand.

import { cp } from "node:fs/promises";
import path from "node:path";

export async function copyPage(folder) {
  const site = path.join(folder, "site");
  await cp(path.join(folder, "index.html"), path.join(site, "index.html"));
  await cp(path.join(folder, "node_modules/headwise/dist/wasm"), path.join(site, "wasm"), { recursive: true });
}
