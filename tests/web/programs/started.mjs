// node [FLAGS] started.mjs ENTRY [FOLDER]: opens an instance of an entry of the package, with the engine's files in a
// folder. Prints what it reports of its threads, or its error.

const [entry, baseUrl] = process.argv.slice(2);
const { createAttention } = await import(entry);
const outcome = await createAttention(baseUrl && { wasm: { baseUrl } }).then(
  ({ report: { threads, reasons } }) => ({ threads, reason: reasons.threads }),
  ({ name, code, message, hint }) => ({ name, code, message, hint }),
);
console.log(JSON.stringify(outcome));
process.exit();
