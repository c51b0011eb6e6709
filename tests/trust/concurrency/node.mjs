// node node.mjs REPORT ENTRY OPTIONS: a storm of calls in Node.

import { writeFileSync } from "node:fs";

import { formula } from "headwise/formula";

import { storm } from "./storm.mjs";

const [report, entry, options] = process.argv.slice(2);
const unhandled = [];
process.on("unhandledRejection", (reason) => unhandled.push(String(reason)));
const outcome = await storm({ ...(await import(entry)), formula }, JSON.parse(options));
writeFileSync(report, JSON.stringify({ ...outcome, unhandled }));
