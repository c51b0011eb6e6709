// Serves files over a slow connection, in the form that a browser takes: gzip, at its best level. The server is slow, and not
// the browser, because what a browser says about its connection does not hold for its workers.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
/** A page with threads must be isolated. */
const ISOLATION = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
/** Bytes are sent in pieces of so many milliseconds. */
const PIECE_MILLISECONDS = 5;

/** The files of a folder by name, each as it is and packed. Packing takes time that no visitor waits for. */
export function packedFiles(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => statSync(path.join(folder, name)).isFile());
  const packed = (contents) => ({ contents, body: gzipSync(contents, { level: 9 }) });
  return new Map(names.map((name) => [name.replaceAll(path.sep, "/"), packed(readFileSync(path.join(folder, name)))]));
}

/**
 * @param {ReturnType<typeof packedFiles>} files
 * @param {{ bytesPerSecond: number, latency: number }} connection - all requests share it; latency in milliseconds, there and back
 */
export async function serveSlowly(files, { bytesPerSecond, latency }) {
  const piece = Math.ceil((bytesPerSecond * PIECE_MILLISECONDS) / 1000);
  const sent = new Map();
  let freeAt = 0;
  const answer = async (url, response) => {
    const name = url === "/" ? "index.html" : url.slice(1);
    await sleep(latency);
    const file = files.get(name);
    if (!file) return response.writeHead(404).end();
    const { contents, body } = file;
    sent.set(name, contents);
    const type = TYPES[path.extname(name)] ?? "text/plain";
    response.writeHead(200, { "content-type": type, "content-encoding": "gzip", ...ISOLATION });
    for (let from = 0; from < body.length; from += piece) {
      freeAt = Math.max(freeAt, performance.now()) + (1000 * Math.min(piece, body.length - from)) / bytesPerSecond;
      await sleep(Math.max(0, freeAt - performance.now()));
      response.write(body.subarray(from, from + piece));
    }
    return response.end();
  };
  const server = createServer(({ url }, response) => void answer(url, response));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    /** The files that were sent, by name, as they are before gzip. */
    sent,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
