// Wasm memory only grows, so the size of a contender's memories is its peak. Runtimes with threads make their memory in
// JavaScript: whoever makes one while this watch is on is seen.

const made = [];
const Plain = WebAssembly.Memory;

WebAssembly.Memory = class Memory extends Plain {
  constructor(descriptor) {
    super(descriptor);
    made.push(new WeakRef(this));
  }
};

/** Runs `work` and returns its result, and a function that tells the bytes of the memories made meanwhile. */
export async function watchMemory(work) {
  const before = made.length;
  const result = await work();
  const own = made.slice(before);
  return { result, bytes: () => own.reduce((sum, memory) => sum + (memory.deref()?.buffer.byteLength ?? 0), 0) };
}
