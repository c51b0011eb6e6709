import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { pipeline } from "node:stream/promises";

export interface ServerOptions {
  /** The folder of each URL prefix. Prefixes end in "/". The longest one that matches is used. */
  readonly folders: Readonly<Record<string, string>>;
  readonly port: number;
  /** Whether to send COOP and COEP. Without these headers a browser has no shared memory, and so no threads. */
  readonly isolation: boolean;
  /** Other origins that pages may fetch from. */
  readonly connect?: readonly string[];
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

const ISOLATION = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

/** Pages of other origins may show figures of the lab: all its files are public. */
const EMBEDDING = {
  "Access-Control-Allow-Origin": "*",
  "Cross-Origin-Resource-Policy": "cross-origin",
};

/** All files of the page come from this server. Only WebAssembly may be compiled. */
const contentSecurityPolicy = ({ connect = [] }: ServerOptions) =>
  [
    "default-src 'self'",
    `connect-src ${["'self'", ...connect].join(" ")}`,
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self' blob:",
    "img-src 'self' data: blob:",
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'", // KaTeX formats formulas with style attributes
  ].join("; ");

/** Serves static files to this machine only. If the port is in use, the system chooses another. */
export async function serve(options: ServerOptions): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch(() => response.destroy());
  });
  await listen(server, options.port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE" && error.code !== "EACCES") throw error;
    return listen(server, 0);
  });
  return { server, url: `http://localhost:${(server.address() as AddressInfo).port}/` };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, options: ServerOptions): Promise<void> {
  const refuse = (status: number, text: string) => {
    response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" }).end(text);
  };
  if (request.method !== "GET" && request.method !== "HEAD") return refuse(405, "only GET and HEAD");
  const file = fileOf(request.url ?? "/", options.folders);
  const found = file === undefined ? undefined : await stat(file).catch(() => undefined);
  if (file === undefined || !found?.isFile()) return refuse(404, "not found");

  response.writeHead(200, {
    "Content-Type": CONTENT_TYPES[path.extname(file)] ?? "application/octet-stream",
    "Content-Length": found.size,
    "Content-Security-Policy": contentSecurityPolicy(options),
    ...EMBEDDING,
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    ...(options.isolation ? ISOLATION : {}),
  });
  if (request.method === "HEAD") response.end();
  else await pipeline(createReadStream(file), response);
}

/** The file of a URL; undefined if it would be outside its folder. */
export function fileOf(url: string, folders: ServerOptions["folders"]): string | undefined {
  const pathname = decoded(url.replace(/[?#].*$/s, ""));
  if (pathname === undefined || pathname.includes("\0")) return undefined;
  const prefix = Object.keys(folders)
    .filter((candidate) => pathname.startsWith(candidate))
    .sort((a, b) => b.length - a.length)[0];
  if (prefix === undefined) return undefined;
  const folder = path.resolve(folders[prefix]!);
  const file = path.resolve(folder, pathname.slice(prefix.length) || "index.html");
  return file.startsWith(folder + path.sep) ? file : undefined;
}

function decoded(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
}
