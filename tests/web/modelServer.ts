// A server of models that behaves like a hub: /OWNER/NAME/resolve/REVISION/FILE leads to another address, which serves ranges
// with an ETag. Tests make it slow, broken or strict.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a test changes. Each is asked for every request of a file. */
export interface Behaviour {
  /** Answers in place of the server; `true` if it did. */
  intercept?(request: Asked, response: ServerResponse): boolean;
  /** Whether ranges are served. Default: yes. */
  hasRanges?: boolean;
  /** Whether answers with a range say it in Content-Range. Default: yes. */
  saysRange?: boolean;
  /** The most bytes of an answer with a range. */
  mostBytes?: number;
  /** Ends the connection after so many bytes of an answer. */
  cutAfter?(request: Asked): number | undefined;
  /** Part of the ETag. */
  version?: string;
}

/** A request of a file. */
export interface Asked {
  readonly file: string;
  readonly method: string;
  /** As `bytes=FROM-TO`; undefined without. */
  readonly range: string | undefined;
  readonly headers: IncomingMessage["headers"];
}

export type ServedFiles = Readonly<Record<string, Uint8Array>>;

export interface ModelServer {
  readonly url: string;
  /** Requests of files, in their order. */
  readonly asked: Asked[];
  files: ServedFiles;
  behaviour: Behaviour;
  stop(): Promise<void>;
}

const CORS = { "access-control-allow-origin": "*", "access-control-expose-headers": "Content-Range, ETag" };

export async function serveModel(files: ServedFiles): Promise<ModelServer> {
  const served: ModelServer = { url: "", asked: [], files, behaviour: {}, stop };
  const server = createServer((request, response) => answer(served, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  function stop(): Promise<void> {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  }
  return Object.assign(served, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

function answer(served: ModelServer, request: IncomingMessage, response: ServerResponse): void {
  for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
  if (request.method === "OPTIONS") {
    response.writeHead(204, { "access-control-allow-headers": "range, authorization" }).end();
    return;
  }
  const path = decodeURIComponent(request.url!);
  const [, file] = /\/resolve\/[^/]+\/(.+)$/.exec(path) ?? [];
  if (file !== undefined) {
    response.writeHead(302, { location: `/store/${encodeURIComponent(file)}` }).end();
    return;
  }
  const name = path.replace(/^\/store\//, "");
  const { method = "GET", headers } = request;
  const asked: Asked = { file: name, method, range: headers.range, headers };
  served.asked.push(asked);
  if (!served.behaviour.intercept?.(asked, response)) serveFile(served, asked, response);
}

function serveFile({ files, behaviour }: ModelServer, asked: Asked, response: ServerResponse): void {
  const bytes = files[asked.file];
  if (!bytes) {
    response.writeHead(404).end("no such file");
    return;
  }
  const { hasRanges = true, saysRange = true, mostBytes = Infinity, version = "1" } = behaviour;
  response.setHeader("etag", `"${asked.file}-${version}"`);
  const [, first, last] = (hasRanges && /^bytes=(\d+)-(\d+)$/.exec(asked.range ?? "")) || [];
  const [from, to] = first
    ? [Number(first), Math.min(Number(last) + 1, bytes.length, Number(first) + mostBytes)]
    : [0, bytes.length];
  if (first && from >= bytes.length) {
    response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
    return;
  }
  if (first && saysRange) response.setHeader("content-range", `bytes ${from}-${to - 1}/${bytes.length}`);
  response.writeHead(first ? 206 : 200, { "content-length": to - from });
  if (asked.method === "HEAD") response.end();
  else send(response, bytes.subarray(from, to), behaviour.cutAfter?.(asked));
}

function send(response: ServerResponse, bytes: Uint8Array, cut: number | undefined): void {
  if (cut === undefined) response.end(bytes);
  else response.write(bytes.subarray(0, cut), () => response.destroy());
}
