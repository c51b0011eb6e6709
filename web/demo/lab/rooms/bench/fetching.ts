import { beginningOf } from "../../../model/graphemes.js";
import { bytes } from "../../shell/numbers.js";
import { BenchFileError, MOST_BYTES } from "./benchFile.js";
import { t } from "../../../texts/t.js";

/** The address of a file that may be fetched: https, or the page's own host. */
export function allowedAddress(text: string, page: string): URL {
  let url: URL;
  try {
    url = new URL(text, page);
  } catch {
    throw new BenchFileError(t`“${beginningOf(text, 200)}” is not an address.`);
  }
  const isOwn = url.origin === new URL(page).origin && url.protocol === "http:";
  if (!isOwn && url.protocol !== "https:")
    throw new BenchFileError(t`${url.href.slice(0, 200)} begins with ${url.protocol}; the page fetches https only, or from its own host.`); // oxfmt-ignore
  return url;
}

/** What a visitor's address asks for, and nothing else: without cookies, and without saying where the visitor comes from. */
export async function fetchText(text: string, page: string): Promise<{ readonly name: string; readonly text: string }> {
  const url = allowedAddress(text, page);
  const response = await fetch(url, { mode: "cors", credentials: "omit", referrerPolicy: "no-referrer" }).catch(() => {
    throw new BenchFileError(t`${url.href.slice(0, 200)} could not be fetched. Its host must allow it (CORS), and so must the host of this page: that of “npm start” allows its own files only. Save the file, and drop it here.`); // oxfmt-ignore
  });
  allowedAddress(response.url, page); // after redirections
  if (!response.ok) throw new BenchFileError(t`${url.href.slice(0, 200)} could not be fetched: its host answers ${response.status}.`); // oxfmt-ignore
  const name = url.pathname.split("/").at(-1) || url.host;
  return { name: url.origin === new URL(page).origin ? name : t`${name} of ${url.host}`, text: await limited(response, name) }; // oxfmt-ignore
}

/** Reads an answer, and ends it if it is too long. */
async function limited(response: Response, name: string): Promise<string> {
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  let [text, length] = ["", 0];
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > MOST_BYTES) {
      await reader.cancel();
      throw tooLong(name);
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

export const tooLong = (name: string) =>
  new BenchFileError(t`${name} has more than ${bytes(MOST_BYTES)}, the most that is read.`);
