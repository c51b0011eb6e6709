// node trappedThread.mjs ENTRY LOADER: makes two calls of an instance whose threads trap while they compute, and one
// call of a healthy instance. Nothing here ends the process.
const [entry, glueUrl] = process.argv.slice(2);
const { createAttention } = await import(entry);

const x = { data: Float32Array.from({ length: 8 * 512 * 64 }, (_, k) => Math.sin(k)), shape: [1, 8, 512, 64] };
const ending = (hw) =>
  hw.scaledDotProductAttention(x, x, x).then(
    ({ output }) => Number.isFinite(output.data[0]),
    ({ name, code, message }) => ({ name, code, message }),
  );

const options = { variant: "simd", backend: "wasm", threads: 2 };
const hw = await createAttention({ ...options, wasm: { glueUrl } });
const endings = [await ending(hw), await ending(hw)];
const well = await createAttention(options);
endings.push(await ending(well));
console.log(JSON.stringify(endings));
