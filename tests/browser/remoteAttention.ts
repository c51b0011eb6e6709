import type { Attention, Layer } from "headwise";
import type { Page } from "playwright-core";

/** The methods of an instance, and of its layers, that a test calls from Node while the page computes. */
export interface RemoteAttention extends Pick<
  Attention,
  "scaledDotProductAttention" | "rotaryEmbedding" | "multiHeadAttention"
> {
  readonly report: Attention["report"];
}

/** An instance in a page, made by the entry of the package at an address. Every call and result is sent as text. */
export async function remoteAttention(page: Page, entry: string): Promise<RemoteAttention> {
  await page.evaluate(`Object.assign(window, { pack: ${String(pack)}, unpack: ${String(unpack)}, objects: [] })`);
  await page.evaluate(openInPage, entry);
  const call = async (object: number, method: string, parameters: unknown[] = []): Promise<unknown> =>
    unpack(await page.evaluate(callInPage, pack([object, method, parameters])));
  const own = (method: string) => (...parameters: unknown[]) => call(0, method, parameters); // oxfmt-ignore
  const layerOf = (id: number) =>
    ({
      forward: (...parameters: unknown[]) => call(id, "forward", parameters),
      dispose: () => void call(id, "dispose"),
    }) as unknown as Layer;
  return {
    report: (await call(0, "report")) as Attention["report"],
    scaledDotProductAttention: own("scaledDotProductAttention"),
    rotaryEmbedding: own("rotaryEmbedding"),
    multiHeadAttention: async (...parameters: unknown[]) =>
      layerOf((await call(0, "multiHeadAttention", parameters)) as number),
  } as unknown as RemoteAttention;
}

interface Packed {
  readonly kind?: string;
  readonly base64?: string;
  readonly number?: string;
}

/** Turns values into text, also typed arrays and numbers that JSON does not have. */
function pack(value: unknown): string {
  return JSON.stringify(value ?? null, (_, item: unknown) => {
    if (typeof item === "number" && !Number.isFinite(item)) return { number: String(item) };
    if (!ArrayBuffer.isView(item)) return item;
    const kind = Object.prototype.toString.call(item).slice("[object ".length, -1);
    let characters = "";
    for (const byte of new Uint8Array(item.buffer, item.byteOffset, item.byteLength))
      characters += String.fromCharCode(byte);
    return { kind, base64: btoa(characters) };
  });
}

function unpack(text: string): unknown {
  const kinds = { Float32Array, Uint16Array, Uint8Array, Int32Array };
  return JSON.parse(text, (_, item: Packed | null) => {
    if (item?.number !== undefined) return Number(item.number);
    if (item?.base64 === undefined) return item;
    const bytes = Uint8Array.from(atob(item.base64), (character) => character.charCodeAt(0));
    return new kinds[item.kind as keyof typeof kinds](bytes.buffer);
  });
}

/** What the page holds: the functions above, the instance, and its layers. */
interface PageWindow {
  readonly pack: typeof pack;
  readonly unpack: typeof unpack;
  readonly objects: Record<string, unknown>[];
}

/** Runs in the page. */
async function openInPage(entry: string): Promise<void> {
  const { createAttention } = (await import(entry)) as {
    createAttention(this: void): Promise<Record<string, unknown>>;
  };
  (window as unknown as PageWindow).objects.push(await createAttention());
}

/** Runs in the page. Returns a method's result or a property; for a new layer its number. */
async function callInPage(text: string): Promise<string> {
  const { pack, unpack, objects } = window as unknown as PageWindow;
  const [id, name, parameters] = unpack(text) as [number, string, unknown[]];
  const object = objects[id]!;
  const member = object[name];
  if (typeof member !== "function") return pack(member);
  const result: unknown = await (member as (...parameters: unknown[]) => unknown).apply(object, parameters);
  return pack(name === "multiHeadAttention" ? objects.push(result as (typeof objects)[0]) - 1 : result);
}
