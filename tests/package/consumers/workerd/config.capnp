using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (services = [(name = "main", worker = .main)]);

const main :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "site/worker.js"),
    (name = "headwise/wasm/headwise.inline.wasm", wasm = embed "node_modules/headwise/dist/wasm/headwise.inline.wasm"),
  ],
  compatibilityDate = "2026-01-01",
);
