// node viteServer.mjs FOLDER [HEADERS]: the development server of Vite, configured by what FOLDER holds. Prints its address.

import { createServer } from "vite";

const [root, headers = "{}"] = process.argv.slice(2);
const server = await createServer({
  ...{ root, logLevel: "error" },
  server: { host: "127.0.0.1", port: 0, headers: JSON.parse(headers) },
});
await server.listen();
console.log(server.resolvedUrls.local[0]);
