import { spawn } from "node:child_process";
import { once } from "node:events";

import { script } from "./pageProject.js";

/** Runs Vite's development server on a folder while `use` works with its address. */
export async function withViteServer<T>(
  folder: string,
  headers: Readonly<Record<string, string>>,
  use: (url: string) => Promise<T>,
  vite = "vite",
): Promise<T> {
  const args = [script("viteServer"), folder, JSON.stringify(headers), vite];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = (await once(server.stdout.setEncoding("utf8"), "data")) as [string];
    return await use(line.trim());
  } finally {
    server.kill();
    await once(server, "close");
  }
}
