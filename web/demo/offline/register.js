// Installs the service worker. Then reloads the page once, so that the worker's headers isolate it. If that does not
// help (in a frame, or if the browser forbids it), the page runs with one thread and says so.

/* global crossOriginIsolated, isSecureContext, location */

const RELOADED = "headwise-lab-reloaded";

if ("serviceWorker" in navigator && isSecureContext) {
  navigator.serviceWorker.register("./serviceWorker.js").then(start, () => {});
}

async function start() {
  await navigator.serviceWorker.ready;
  if (crossOriginIsolated) sessionStorage.removeItem(RELOADED);
  else if (!sessionStorage.getItem(RELOADED)) {
    sessionStorage.setItem(RELOADED, "yes");
    location.reload();
  }
}
