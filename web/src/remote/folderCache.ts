import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import type { KeptBlocks, KeptFile } from "./keptBlocks.js";
import { requiredFs, type NodeFs } from "./nodeFs.js";

/** Blocks as files in a folder: a folder for each address, whose files are named by version and number. */
export class FolderCache implements KeptBlocks {
  readonly #fs: NodeFs["promises"];
  readonly #operation: string;
  readonly #folder: string;

  constructor(operation: string, folder: string) {
    this.#operation = operation;
    this.#fs = requiredFs(operation, "cache.folder").promises;
    this.#folder = folder;
  }

  async file(address: string, version: string): Promise<KeptFile> {
    const fs = this.#fs;
    const [folder, start] = [`${this.#folder}/${await digest(address)}`, await digest(version)];
    await fs.mkdir(folder, { recursive: true }).catch((cause: Error) => {
      const reason = `${this.#operation}: cache.folder ${describe(this.#folder)} could not be made: ${cause.message}`;
      throw new OptionError(reason, { cause });
    });
    const isBlock = new RegExp(`^${start}-\\d+$`); // beside other versions, drafts of programs that have ended are old
    const old = (await fs.readdir(folder)).filter((name) => !isBlock.test(name));
    await Promise.all(old.map((name) => fs.rm(`${folder}/${name}`, { force: true })));
    const pathOf = (n: number) => `${folder}/${start}-${n}`;
    return {
      block: async (n) => new Uint8Array(await fs.readFile(pathOf(n))), // Node's buffers may share memory with others
      async keep(n, bytes) {
        const draft = `${pathOf(n)}-${crypto.randomUUID()}`; // a program that ends while it writes leaves no half block
        await fs.writeFile(draft, bytes);
        await fs.rename(draft, pathOf(n));
      },
    };
  }
}

/** 32 characters for a text of any length. */
async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes, 0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
