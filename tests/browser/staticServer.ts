import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  js: "text/javascript",
  wasm: "application/wasm",
};

/** Headers that isolate a page, so that it may have threads. */
export const ISOLATION = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

/** Serves dist/ and an empty page at / with the given headers, on a port of its own. */
export async function serveDist(headers: Readonly<Record<string, string>>) {
  const dist = new URL("../../dist/", import.meta.url);
  const server = createServer((request, response) => {
    const path = new URL(request.url!, "http://localhost").pathname.slice(1);
    const content = path ? readFile(new URL(path, dist)) : Promise.resolve("<!doctype html><title>headwise</title>");
    content.then(
      (body) => {
        const type = TYPES[path.split(".").at(-1) || "html"] ?? "text/plain";
        response.writeHead(200, { "content-type": type, ...headers }).end(body);
      },
      () => response.writeHead(404, { "content-type": "text/html", ...headers }).end("<!doctype html>"),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
