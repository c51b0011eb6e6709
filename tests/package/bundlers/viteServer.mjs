// node viteServer.mjs FOLDER [HEADERS] [VITE]: the development server of Vite, or of another version by the name under
// which it is installed, configured by what FOLDER holds. Prints its address.

const [root, headers = "{}", vite = "vite"] = process.argv.slice(2);
const { createServer } = await import(vite);
const server = await createServer({
  ...{ root, logLevel: "error" },
  server: { host: "127.0.0.1", port: 0, headers: JSON.parse(headers) },
});
await server.listen();
console.log(server.resolvedUrls.local[0]);
