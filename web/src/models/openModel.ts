import { describe, isObject, tagOf } from "../base/describe.js";
import { NetworkError, OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind, isArray } from "../base/typedArray.js";
import { throwIfAborted } from "../read/abort.js";
import { keptBlocks, type BlockPlace } from "../remote/blockPlace.js";
import type { FolderFile } from "../remote/folderFile.js";
import { folderFiles } from "../remote/folderFiles.js";
import { nodeFs, pathOfUrl } from "../remote/nodeFs.js";
import { RemoteFile, type OpenProgress, type Remote } from "../remote/remoteFile.js";
import { Requests } from "../remote/requests.js";
import { TEMPLATE, TOOL_TEMPLATE } from "./chatTemplate.js";
import { parsedObject } from "./jsonText.js";
import { readKnown } from "./knownNames.js";
import { innerFilesOf, MODULES, POOLING } from "./sentence.js";
import { INDEX, shardsOf, WHOLE } from "./weightFiles.js";

/** Options of `openModel`. */
export interface OpenModelOptions {
  /** Of every request, such as `{ authorization: "Bearer …" }`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Where blocks of large files are kept, so that a broken download goes on and the next visit reads nothing twice. In a page
   * the name of a cache (Cache API); default `"headwise-models"`. In Node `{ folder }`; without it nothing is kept.
   * `false`: nowhere.
   */
  readonly cache?: BlockPlace | undefined;
  /** Called whenever bytes of a file have come, also while `loadModel` reads. */
  readonly onProgress?: ((progress: OpenProgress) => void) | undefined;
  /** Ends the requests, also those that `loadModel` makes later. */
  readonly signal?: AbortSignal | undefined;
}

/** The files of a model by name, for `inspectModel`, `loadModel` and `loadTokenizer`. */
export interface OpenedFiles {
  readonly [name: string]: RemoteFile | FolderFile;
}

const OPERATION = "openModel";
const NAMES = { headers: true, cache: true, onProgress: true, signal: true } as const;
const CONFIG = "config.json";
/** Files that a folder may have. The last one cannot be read, but then the error can say so. */
const OTHERS = [
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  TEMPLATE,
  MODULES,
  WHOLE,
  INDEX,
  "pytorch_model.bin",
];

/**
 * Opens the files of a model at an address. It is the only function of headwise that contacts a server that you name. It
 * reads configurations, and the first 64 KiB of weights. `loadModel` reads the weights later, with range requests. A
 * connection that breaks is taken up again where it has stopped.
 *
 * ```js
 * const model = await loadModel(hw, await openModel(hub("openai-community/gpt2")));
 * ```
 *
 * @param address - The folder that has config.json, as `hub` makes it. In Node also the path of a folder.
 * @returns The files that are there. They are read when they are used.
 * @throws NetworkError if a server refuses, cannot be reached, or has no config.json at the address.
 * @throws The reason of `signal` if it aborts.
 */
export async function openModel(address: string | URL, options: OpenModelOptions = {}): Promise<OpenedFiles> {
  const { known, reader } = readKnown(OPERATION, options, NAMES);
  const signal = reader.signal();
  const onProgress = reader.callback("onProgress") as OpenModelOptions["onProgress"];
  const headers = guarded(OPERATION, "headers", () => headersOf(known.headers));
  const kept = guarded(OPERATION, "cache", () => keptBlocks(OPERATION, known.cache));
  throwIfAborted(signal);
  const text = guarded(OPERATION, "address", () => textOf(address));
  const fs = nodeFs();
  if (fs && !isWeb(text))
    return folderFiles(
      OPERATION,
      fs,
      guarded(OPERATION, "address", () => pathOf(text)),
      (files) => innerFiles(files, [POOLING]),
    );
  const folder = folderAt(text);
  const remote: Remote = {
    operation: OPERATION,
    requests: new Requests(OPERATION, { headers, signal }),
    kept,
    onProgress,
  };
  const open = (name: string) => RemoteFile.open(remote, addressIn(folder, name), name);
  const config = await open(CONFIG);
  if (!config)
    throw new NetworkError(`${OPERATION}: there is no ${CONFIG} at ${folder.href}`, {
      status: 404,
      hint: "The address must be that of the folder which has the model's files.",
    });
  /** Those of these files that are there. */
  const those = async (names: readonly string[]) => {
    const opened = await Promise.all(names.map((name) => open(name).catch(absentIfForbidden)));
    return present(names, opened);
  };
  const files: Record<string, RemoteFile> = { [CONFIG]: config, ...(await those(OTHERS)) };
  const index = files[WHOLE] ? undefined : files[INDEX];
  const shards = index ? shardsOf(OPERATION, parsedObject(await textIn(index))) : [];
  const parts = present(shards, await Promise.all(shards.map(open)));
  return { ...files, ...parts, ...(await those(await innerFiles(files, []))) };
}

/** The files in inner folders that the others lead to: of modules.json, or `otherwise` if there is none; of templates. */
async function innerFiles(files: OpenedFiles, otherwise: readonly string[]): Promise<readonly string[]> {
  const ofModules = files[MODULES] ? innerFilesOf(await textIn(files[MODULES])) : otherwise;
  return files[TEMPLATE] ? [...ofModules, TOOL_TEMPLATE] : ofModules;
}

const textIn = async (file: RemoteFile | FolderFile) => new TextDecoder().decode(await file.arrayBuffer());

/** Some servers forbid what they do not have. config.json has come, so the folder itself is not forbidden. */
function absentIfForbidden(error: unknown): undefined {
  if (!(NetworkError.is(error) && error.status === FORBIDDEN)) throw error;
}

const FORBIDDEN = 403;

function present(names: readonly string[], files: readonly (RemoteFile | undefined)[]): Record<string, RemoteFile> {
  const found = names.map((name, n) => [name, files[n]] as const);
  return Object.fromEntries(found.filter((entry): entry is readonly [string, RemoteFile] => entry[1] !== undefined));
}

function textOf(address: unknown): string {
  if (typeof address === "string" && address !== "") return address;
  if (tagOf(address) === "URL") return String(address);
  throw new OptionError(`${OPERATION}: address must be a string or a URL, got ${describe(address)}`, {
    hint: "`hub(name)` makes the address of a model on a hub. Files that the user has chosen go to loadModel.",
  });
}

const isWeb = (text: string) => /^https?:/i.test(text);
const pathOf = (text: string) => (/^file:/i.test(text) ? pathOfUrl(text) : text);

/** The folder of an address. In a page it may be relative to the page. */
function folderAt(text: string): URL {
  const base = (globalThis as { readonly document?: { readonly baseURI: string } }).document?.baseURI;
  const whole = URL.canParse(text, base) ? new URL(text, base) : undefined;
  if (!whole || !isWeb(whole.protocol))
    throw new OptionError(`${OPERATION}: address must begin with http, got ${describe(text)}`, {
      hint: "`hub(name)` makes the address of a model on a hub.",
    });
  whole.pathname = `${whole.pathname.replace(/\/(config\.json)?$/, "")}/`;
  return whole;
}

/** The address of a file. A name of an index may not lead out of the folder. */
function addressIn(folder: URL, name: string): string {
  const address = new URL(folder);
  address.pathname += name.split("/").map(encodeURIComponent).join("/");
  if (address.pathname.startsWith(folder.pathname)) return address.href;
  throw new OptionError(`${OPERATION}: ${INDEX} names a file outside of its folder: ${describe(name)}`, {
    code: "CORRUPT_DATA",
  });
}

function headersOf(given: unknown): Readonly<Record<string, string>> {
  if (given === undefined) return {};
  const isNamed = isObject(given) && !isArray(given) && !arrayKind(given); // the names of a long list would cost seconds
  const entries: [string, unknown][] = isNamed ? Object.entries(given) : [];
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === "string";
  if (isNamed && entries.every(isText)) return Object.fromEntries(entries);
  throw new OptionError(`${OPERATION}: headers must be an object of strings, got ${describe(given)}`);
}
