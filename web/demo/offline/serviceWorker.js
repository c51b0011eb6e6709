// Stores the lab on the visitor's device. If the host does not send the headers COOP and COEP, this worker adds them:
// they isolate the pages, and threads need that. site.mjs writes the lists and the versions.

const PAGE = __PAGE__;
const MODEL = __MODEL__;

// The model is large. A new version of the page keeps it, if it is the same.
const NAME = "headwise-lab-";
const CACHE = `${NAME}__VERSION__`;
const MODEL_CACHE = `${NAME}model-__MODEL_VERSION__`;
const ISOLATION = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
};

// A new version waits until all pages of the old one are closed. An open page may still need its files.
addEventListener("install", (event) => event.waitUntil(keep(PAGE)));
addEventListener("activate", (event) => event.waitUntil(forgetOthers().then(() => clients.claim())));
addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && new URL(url).origin === location.origin) event.respondWith(answer(event));
});

async function keep(files) {
  const cache = await caches.open(CACHE);
  const missing = [];
  for (const file of files) if (!(await cache.match(file))) missing.push(file);
  // The browser may still have files of the old version, such as its index.html. It asks the host whether they hold.
  await cache.addAll(missing.map((file) => new Request(file, { cache: "no-cache" })));
}

async function forgetOthers() {
  const others = (await caches.keys()).filter(
    (name) => name.startsWith(NAME) && name !== CACHE && name !== MODEL_CACHE,
  );
  await Promise.all(others.map((name) => caches.delete(name)));
}

async function answer(event) {
  const ofModel = isModel(event.request.url);
  // A browser whose disk is full may not even open what it has stored.
  const cache = await caches.open(ofModel ? MODEL_CACHE : CACHE).catch(() => undefined);
  const kept = await cache?.match(event.request, { ignoreSearch: true }).catch(() => undefined);
  const response = kept ?? (await fetch(event.request));
  if (response.type === "opaqueredirect" || response.status === 0) return response;
  // It is stored when a page has asked for it, if there is room for it.
  if (!kept && response.ok && ofModel) event.waitUntil(cache?.put(event.request, response.clone()).catch(() => {}));
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(ISOLATION)) headers.set(name, value);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

function isModel(url) {
  return MODEL.some((file) => new URL(file, location.href).href === url);
}
