/**
 * Starts a worker from the address of a module. A page in a sandbox has no origin, and may start workers only from what
 * it made itself: there a module of one line imports the other one.
 */
export function moduleWorker(address: string): Worker {
  if (self.origin !== "null") return new Worker(address, { type: "module" });
  const line = new Blob([`import ${JSON.stringify(address)};`], { type: "text/javascript" });
  return new Worker(URL.createObjectURL(line), { type: "module" });
}
