// Installs the service worker, and loads the page anew, once, so that the worker's headers isolate it. If that does not
// help (a frame, a browser that forbids it) the page stays as it is, with one thread, and says so.

/* global crossOriginIsolated, isSecureContext, location */

const RELOADED = "headwise-lab-reloaded";

if ("serviceWorker" in navigator && isSecureContext) {
  navigator.serviceWorker.register("./serviceWorker.js").then(start, () => {});
}

async function start() {
  const registration = await navigator.serviceWorker.ready;
  if (crossOriginIsolated) sessionStorage.removeItem(RELOADED);
  else if (!sessionStorage.getItem(RELOADED)) {
    sessionStorage.setItem(RELOADED, "yes");
    location.reload();
    return;
  }
  registration.active.postMessage("keep the model");
}
