import type { Anatomy, LayerAnatomy } from "./anatomy.js";

/** An anatomy as JSON: its arrays are float32 in base64. */
export type PackedAnatomy = Packed<Omit<Anatomy, "layers">> & { readonly layers: readonly Packed<LayerAnatomy>[] };
type Packed<T> = { readonly [Name in keyof T]: T[Name] extends Float32Array ? { readonly float32: string } : T[Name] };

export function packedAnatomy({ layers, ...rest }: Anatomy): PackedAnatomy {
  return { ...packed(rest), layers: layers.map(packed) };
}

export function unpackedAnatomy({ layers, ...rest }: PackedAnatomy): Anatomy {
  return { ...unpacked(rest), layers: layers.map(unpacked) } as unknown as Anatomy;
}

function packed<T extends object>(parts: T): Packed<T> {
  const one = (value: unknown) => (value instanceof Float32Array ? { float32: base64(value) } : value);
  return Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, one(value)])) as Packed<T>;
}

function unpacked(parts: object): object {
  const one = (value: unknown) => {
    const isPacked = typeof value === "object" && value !== null && "float32" in value;
    return isPacked ? numbersOf(value.float32 as string) : value;
  };
  return Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, one(value)]));
}

function base64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return btoa(Array.from(new Uint8Array(buffer, byteOffset, byteLength), (byte) => String.fromCharCode(byte)).join(""));
}

function numbersOf(text: string): Float32Array {
  return new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}
