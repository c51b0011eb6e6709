const worker = new Worker(new URL("./ownWorker.js", import.meta.url), { type: "module" });

globalThis.outcome = new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(message));
});
