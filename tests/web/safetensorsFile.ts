/** A .safetensors file with these tensors. */
export function safetensors(
  tensors: Readonly<
    Record<string, { readonly dtype: string; readonly shape: readonly number[]; readonly bytes: Uint8Array }>
  >,
): Uint8Array<ArrayBuffer> {
  let offset = 0;
  const entries = Object.entries(tensors).map(([name, { dtype, shape, bytes }]) => {
    const from = offset;
    offset += bytes.length;
    return [name, { dtype, shape, data_offsets: [from, offset] }] as const;
  });
  const header = new TextEncoder().encode(
    JSON.stringify({ __metadata__: { format: "pt" }, ...Object.fromEntries(entries) }),
  );
  const file = new Uint8Array(8 + header.length + offset);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  Object.values(tensors).forEach(({ bytes }, i) => file.set(bytes, 8 + header.length + entries[i]![1].data_offsets[0]));
  return file;
}
