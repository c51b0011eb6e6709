import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Headers that isolate a page, so that it may have threads. */
export const ISOLATION = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

type Headers = Readonly<Record<string, string>>;

/** Answers in place of files, by the files' names: "worker-entry.js". */
export type Answers = Readonly<
  Record<string, { readonly status?: number; readonly headers?: Headers; readonly body: string }>
>;

/** Serves dist/, and an empty page at /, with the given headers on a port of its own. */
export function serveDist(headers: Headers, answers?: Answers) {
  return serveFolder(fileURLToPath(new URL("../../dist/", import.meta.url)), headers, answers);
}

/** Serves the files of a folder. The address of a folder is its index.html; / is an empty page if it has none. */
export async function serveFolder(folder: string, headers: Headers, answers: Answers = {}) {
  const server = createServer((request, response) => {
    const name = new URL(request.url!, "http://localhost").pathname.slice(1).replace(/(^|\/)$/, "$1index.html");
    const answer = answers[name];
    if (answer) {
      response.writeHead(answer.status ?? 200, { ...headers, ...answer.headers }).end(answer.body);
      return;
    }
    readFile(path.join(folder, name))
      .catch((error: Error) => {
        if (name === "index.html") return "<!doctype html><title>headwise</title>";
        throw error;
      })
      .then(
        (body) => {
          const type = TYPES[path.extname(name)] ?? "text/plain";
          response.writeHead(200, { "content-type": type, ...headers }).end(body);
        },
        () => response.writeHead(404, { "content-type": "text/html", ...headers }).end("<!doctype html>"),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref(); // the server of a test that has failed must not keep Jest from ending
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
