// What chromium.mjs runs in its page: one engine, measured in this window.

export async function run({ adapter, filter, few, memory, versions, platform }) {
  const suite = await import("/measure.mjs");
  const { open } = await import(`/adapters/${adapter}`);
  const engine = await open({
    isNode: false,
    features: suite.OFFERED,
    versionOf: (name) => versions[name],
    assets: (path) => new URL(`/packages/${path}`, document.baseURI).href,
    load: (...names) => load(names),
  });
  const say = (record) => window.report(JSON.stringify(record, (_, x) => (x === Infinity ? "Infinity" : x)));
  await say({ version: engine.version, platform });
  if (memory) {
    const { memoryCheck } = await import("/runner/memory.mjs");
    await say(await memoryCheck(engine, suite, () => window.peakBytes()));
    return;
  }
  const { rows, onnx } = await (await fetch(`/suite.json?filter=${encodeURIComponent(filter)}`)).json();
  await suite.measure(engine, { rows: few ? suite.few(rows, Number(few)) : rows, onnx }, say);
}

/** The modules of this repository lie as they are; other packages come in one bundle, so that they share what they share. */
async function load(names) {
  if (names.every((name) => name.startsWith("headwise")))
    return Promise.all(names.map((name) => import(`/own/${name}`)));
  const bundle = await import(`/bundle/${encodeURIComponent(names.join(","))}`);
  return names.map((_, k) => (bundle[`m${k}`].default?.env ? bundle[`m${k}`].default : bundle[`m${k}`]));
}
