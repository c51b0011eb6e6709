// Lets the service worker compute, and passes on its outcome.

async function outcomeOfWorker() {
  const { active, installing } = await navigator.serviceWorker.register("./service.js", { type: "module" });
  await navigator.serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    (active ?? installing).postMessage("compute", [port2]);
  });
}

globalThis.outcome = outcomeOfWorker();
