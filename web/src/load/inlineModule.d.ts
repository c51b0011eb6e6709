// What the build puts into headwise/inline; see web/build/bundle.mjs.

declare module "inline-module:glue" {
  /** Emscripten's loader for one thread. It cannot load a file. */
  // oxlint-disable-next-line typescript/consistent-type-imports -- an ambient module has no relative imports
  const createHeadwise: import("./host.js").LoaderExport;
  export default createHeadwise;
}

declare module "inline-module:wasm" {
  /** The module, deflated, in base64. */
  const text: string;
  export default text;
}
