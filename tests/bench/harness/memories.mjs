// Wasm memory only grows, so its size is the peak of a contender. Runtimes with threads make their memory in
// JavaScript; this file watches the constructor.

const made = [];
const Plain = WebAssembly.Memory;

WebAssembly.Memory = class Memory extends Plain {
  constructor(descriptor) {
    super(descriptor);
    made.push(new WeakRef(this));
  }
};

/** Runs `work`. Returns its result, and a function that gives the bytes of all memories made in the meantime. */
export async function watchMemory(work) {
  const before = made.length;
  const result = await work();
  const own = made.slice(before);
  return { result, bytes: () => own.reduce((sum, memory) => sum + (memory.deref()?.buffer.byteLength ?? 0), 0) };
}
