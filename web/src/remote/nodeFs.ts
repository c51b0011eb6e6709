import { UnsupportedError } from "../base/errors.js";

/** What is used of an open file. */
export interface OpenFile {
  read(bytes: Uint8Array, at: number, length: number, from: number): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

/** What is used of `node:fs`. */
export interface NodeFs {
  readonly promises: {
    mkdir(path: string, options: { readonly recursive: true }): Promise<unknown>;
    readdir(path: string): Promise<string[]>;
    readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
    writeFile(path: string, bytes: Uint8Array): Promise<void>;
    rename(from: string, to: string): Promise<void>;
    rm(path: string, options: { readonly force: true }): Promise<void>;
    stat(path: string): Promise<{ readonly size: number; isFile(): boolean }>;
    open(path: string, flags: "r"): Promise<OpenFile>;
  };
}

/** Without an import, so that bundlers for pages find nothing of Node. Node has it from 20.16; Deno and Bun have it too. */
interface Runtime {
  readonly process?: { getBuiltinModule?(name: string): unknown };
}

const builtin = (name: string): unknown => (globalThis as Runtime).process?.getBuiltinModule?.(name);

/** The files of the machine; undefined in pages. */
export const nodeFs = (): NodeFs | undefined => builtin("node:fs") as NodeFs | undefined;

/** The path of an address such as `file:///models/small`, as the system writes it: on Windows it begins with a drive. */
export function pathOfUrl(url: string): string {
  const { fileURLToPath } = builtin("node:url") as { readonly fileURLToPath: (url: string) => string };
  return fileURLToPath(url);
}

/** @throws UnsupportedError in pages. */
export function requiredFs(operation: string, what: string): NodeFs {
  const fs = nodeFs();
  if (fs) return fs;
  throw new UnsupportedError(`${operation}: ${what} needs Node 20.16 or newer, Deno or Bun`);
}
