/**
 * Starts a worker from the address of a module. A page in a sandbox has no origin, so no address is of the same one; but
 * it may start a worker from a data URL, and one line there imports the module. (Chromium refuses modules from a blob.)
 */
export function moduleWorker(address: string): Worker {
  const line = `data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(address)};`)}`;
  return new Worker(self.origin === "null" ? line : address, { type: "module" });
}
