// node fileServer.mjs FOLDER [RATE]: serves the files of a folder on this machine, with ranges, and prints its address. RATE: the
// bytes of a second that all answers together get, as from a connection; default: as many as the machine can.

import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { Transform } from "node:stream";

const [folder, rate] = process.argv.slice(2);

/** When the connection has sent all that it was given, in milliseconds. */
let free = 0;
/** A timer may be late by some milliseconds, so the connection waits only for more than this, and may catch up as much. */
const SLACK = 10;
const connection = () =>
  new Transform({
    transform(chunk, _, done) {
      const now = performance.now();
      free = Math.max(free, now - SLACK) + (1000 * chunk.length) / Number(rate);
      if (free - now < SLACK) done(null, chunk);
      else setTimeout(done, free - now, null, chunk);
    },
  });

const server = createServer(({ url, headers }, response) => {
  const file = path.join(folder, path.basename(url));
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) return response.writeHead(404).end();
  const [, from = 0, to = size - 1] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
  const [start, end] = [Number(from), Math.min(Number(to), size - 1)];
  const range = headers.range && { "content-range": `bytes ${start}-${end}/${size}` };
  response.writeHead(headers.range ? 206 : 200, { etag: '"1"', "content-length": end - start + 1, ...range });
  const bytes = createReadStream(file, { start, end });
  (rate ? bytes.pipe(connection()) : bytes).pipe(response);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
