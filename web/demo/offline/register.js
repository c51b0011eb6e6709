// Installs the service worker. Then reloads the page once, so that the worker's headers isolate it. If that does not
// help (the browser may forbid it), the page runs with one thread and says so.

const RELOADED = "headwise-lab-reloaded";

// A figure in another page installs nothing. In a sandbox even asking for the worker throws.
if (self === top && "serviceWorker" in navigator && isSecureContext) {
  navigator.serviceWorker
    .register("./serviceWorker.js")
    .then(start)
    .catch(() => {});
}

async function start() {
  await navigator.serviceWorker.ready;
  if (crossOriginIsolated) sessionStorage.removeItem(RELOADED);
  else if (!sessionStorage.getItem(RELOADED)) {
    sessionStorage.setItem(RELOADED, "yes");
    location.reload();
  }
}
