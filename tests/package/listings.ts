import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const folder = "web/docs";

/** The listings of web/docs that say which file they are, by the name of that file: ```js vite.config.js. */
export const listings: ReadonlyMap<string, string> = new Map(
  readdirSync(folder).flatMap((page) => {
    const fences = readFileSync(path.join(folder, page), "utf8").matchAll(/^```\w+ ([\w.]+)\n(.*?)^```/gms);
    return [...fences].map(([, name, text]) => [name!, text!] as const);
  }),
);
