import { assetHint } from "./assetErrors.js";
import { within } from "./inTime.js";

/** How a server answered the request for a file, in words for an error. */
export interface Answer {
  readonly ok: boolean;
  /** Whether the content type is that of a script. */
  readonly isScript: boolean;
  /** Status, content type and first bytes. */
  readonly text: string;
  /** What to do if this is not the file. */
  readonly hint: string;
}

/** Reads the beginning of an answer that is not the file, to say what it is. */
export async function answerOf(url: string, response: Response): Promise<Answer> {
  const bytes = await beginningOf(response);
  return {
    ok: response.ok,
    isScript: /(java|ecma)script/i.test(contentType(response)),
    text: `${statusOf(response)}, ${firstBytes(bytes)}`,
    hint: VITE_REFUSES.test(String.fromCharCode(...bytes.subarray(0, LONGEST_LOOK))) ? VITE_HINT : assetHint(url),
  };
}

/** Status and content type. */
export function statusOf(response: Response): string {
  return `HTTP ${response.status}, content type ${contentType(response) || "not stated"}`;
}

/** The first bytes in hexadecimal. */
export function firstBytes(bytes: Uint8Array): string {
  const first = [...bytes.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return `first bytes ${first || "none"}`;
}

const contentType = (response: Response) => response.headers.get("content-type") ?? "";

/** What has arrived first, if anything does. The rest is not read: an answer may be long, or may never end. */
async function beginningOf(response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  try {
    return (reader && (await within(reader.read(), () => new Error("nothing came"))).value) ?? new Uint8Array();
  } catch {
    return new Uint8Array();
  } finally {
    reader?.cancel().catch(() => undefined);
  }
}

/** The text of a refusal stands at the beginning of its page. */
const LONGEST_LOOK = 4096;

/** The page with which Vite's development server refuses a file (status 403). */
const VITE_REFUSES = /outside of Vite serving allow list/;
const VITE_HINT =
  "Vite's development server serves no file outside of its root. Add the package's folder to server.fs.allow in its " +
  "configuration.";
