// node tests/attention-conformance/runner/node.mjs ADAPTER [--filter NAME] [--few COUNT] [--memory]: measures one
// engine in this Node. It prints one check a line as JSON, and first the engine's version.

import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { bundled, measureFile } from "./bundle.mjs";
import { memoryCheck } from "./memory.mjs";
import { adapterFile, nodeTools } from "./packages.mjs";
import { readSuite } from "./suite.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { filter: { type: "string" }, few: { type: "string" }, memory: { type: "boolean" } },
});
const suite = await import(await bundled(measureFile));
const { open } = await import(pathToFileURL(adapterFile(positionals[0])).href);
const say = (record) => process.stdout.write(`${JSON.stringify(record, asText)}\n`);
const asText = (_, value) => (value === Infinity ? "Infinity" : value);

const engine = await open(nodeTools(suite.OFFERED));
say({ version: engine.version, platform: `Node ${process.versions.node}` });
const peak = () => process.resourceUsage().maxRSS * 1024;
if (values.memory) say(await memoryCheck(engine, suite, peak));
else {
  const { rows, onnx } = readSuite(values.filter && new RegExp(values.filter));
  await suite.measure(engine, { rows: values.few ? suite.few(rows, Number(values.few)) : rows, onnx }, say);
}
await engine.close?.();
process.exit(); // an engine's threads must not keep the process
