// node fileServer.mjs FOLDER: serves the files of a folder on this machine, with ranges, and prints its address.

import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";

const [folder] = process.argv.slice(2);

const server = createServer(({ url, headers }, response) => {
  const file = path.join(folder, path.basename(url));
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) return response.writeHead(404).end();
  const [, from = 0, to = size - 1] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
  const [start, end] = [Number(from), Math.min(Number(to), size - 1)];
  const range = headers.range && { "content-range": `bytes ${start}-${end}/${size}` };
  response.writeHead(headers.range ? 206 : 200, { etag: '"1"', "content-length": end - start + 1, ...range });
  createReadStream(file, { start, end }).pipe(response);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
