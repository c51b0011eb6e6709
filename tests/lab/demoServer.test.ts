import { mkdtempSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, expect, test } from "@jest/globals";

import { fileOf, serve } from "../../web/demo/cli/server.js";

const root = mkdtempSync(path.join(tmpdir(), "headwise-demo-"));
mkdirSync(path.join(root, "page"));
mkdirSync(path.join(root, "model"));
writeFileSync(path.join(root, "secret"), "secret");
writeFileSync(path.join(root, "page/index.html"), "<p>page</p>");
writeFileSync(path.join(root, "model/a.wasm"), "wasm");
const folders = { "/": path.join(root, "page"), "/model/": path.join(root, "model") };

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});
async function start(
  options: { port?: number; isolation?: boolean; connect?: readonly string[] } = {},
): Promise<string> {
  const { server, url } = await serve({ folders, port: 0, isolation: true, ...options });
  open.push(server);
  return url;
}

test("files come with their type, the page at the root", async () => {
  const url = await start();
  const page = await fetch(url);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(await page.text()).toBe("<p>page</p>");
  const wasm = await fetch(`${url}model/a.wasm`);
  expect(wasm.headers.get("content-type")).toBe("application/wasm");
  expect(wasm.headers.get("content-length")).toBe("4");
});

test("cross-origin isolated unless asked otherwise", async () => {
  const isolation = async (url: string) => {
    const { headers } = await fetch(url);
    return [headers.get("cross-origin-opener-policy"), headers.get("cross-origin-embedder-policy")];
  };
  expect(await isolation(await start())).toEqual(["same-origin", "require-corp"]);
  expect(await isolation(await start({ isolation: false }))).toEqual([null, null]);
});

test("pages fetch from this server only, and from the origins that are named", async () => {
  const policy = async (url: string) => (await fetch(url)).headers.get("content-security-policy")!.split("; ");
  expect(await policy(await start())).toContain("connect-src 'self'");
  expect(await policy(await start({ connect: ["https://a.example"] }))).toContain(
    "connect-src 'self' https://a.example",
  );
});

test("pages of other origins may load what a figure needs", async () => {
  const { headers } = await fetch(`${await start()}model/a.wasm`);
  expect(headers.get("access-control-allow-origin")).toBe("*");
  expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
});

test("what is not there, not a file or not a read is refused", async () => {
  const url = await start();
  expect((await fetch(`${url}nothing.js`)).status).toBe(404);
  expect((await fetch(`${url}model/`)).status).toBe(404);
  expect((await fetch(url, { method: "POST" })).status).toBe(405);
  expect(await (await fetch(url, { method: "HEAD" })).text()).toBe("");
});

test.each([
  "/../secret",
  "/model/../../secret",
  "/%2e%2e/secret",
  "/..%2fsecret",
  "/model/..%2f..%2fsecret",
  "/%00",
  "/%zz",
  "//",
  "//model/a.wasm",
  "http://[",
  "*",
])("%s leads to no file outside the folders", (url) => {
  const file = fileOf(url, folders);
  expect(file === undefined || file.startsWith(folders["/"]) || file.startsWith(folders["/model/"])).toBe(true);
});

test("a taken port gives another one", async () => {
  const other = createServer();
  open.push(other);
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const url = await start({ port });
  expect(url).not.toContain(`:${port}/`);
  expect((await fetch(url)).status).toBe(200);
});
