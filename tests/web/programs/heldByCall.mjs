// node --expose-gc heldByCall.mjs ENTRY: calls whose instance is held by nothing else, while garbage is collected.
const { createAttention } = await import(process.argv[2]);

const x = { data: new Float32Array(4096 * 64).fill(1), shape: [1, 1, 4096, 64] };

/** Each function returns the promise of a call and drops everything else. */
const CALLS = {
  async attention() {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    return [hw.scaledDotProductAttention(x, x, x)];
  },
  async save() {
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const cache = await hw.kvCache({ numKvHeads: 1, headDim: 64 });
    await cache.append(x, x);
    void cache.attend(x); // save waits for this call
    return [cache.save()];
  },
};

const endings = {};
for (const [name, start] of Object.entries(CALLS)) {
  const [call] = await start();
  let ending;
  call.then(
    () => (ending = "it ended well"),
    ({ code }) => (ending = code),
  );
  while (!ending) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  endings[name] = ending;
}
console.log(JSON.stringify(endings));
