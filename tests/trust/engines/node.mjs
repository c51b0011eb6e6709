// node node.mjs REPORT JOB: computes the cases in some ways in Node.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { openGpu } from "../soak/gpu.mjs";
import { everyNth, resultOf } from "./ways.mjs";

const [report, job] = process.argv.slice(2);
const { ways, suite, cases } = JSON.parse(job);
const fileOf = (address) => path.join(process.cwd(), address);
const measure = await import(pathToFileURL(fileOf(suite)).href);
const rows = JSON.parse(readFileSync(fileOf(cases), "utf8"));
const gpu = await openGpu();
const results = [];
for (const { name, step } of ways) results.push(await resultOf(name, measure, everyNth(rows, step), gpu));
writeFileSync(report, JSON.stringify({ version: process.versions.node, outcome: { results } }));
process.exit(0); // a GPU object keeps the process alive
