import { randomNormal } from "../../shell/random.js";
import { elementCount } from "./files/numbers.js";
import type { FileEntry } from "./files/safetensors.js";

/** The example that is shown before a file is dropped. */
export const EXAMPLE: readonly FileEntry[] = [
  made("q", 1, [4, 20, 16]),
  made("k", 2, [2, 20, 16]),
  made("v", 3, [2, 20, 16]),
  made("x", 4, [20, 32]),
  made("attn.q_proj.weight", 5, [32, 32]),
  made("attn.k_proj.weight", 6, [32, 32]),
  made("attn.v_proj.weight", 7, [32, 32]),
  made("attn.o_proj.weight", 8, [32, 32]),
];

function made(name: string, seed: number, shape: readonly number[]): FileEntry {
  const spread = name.endsWith("weight") ? 1 / Math.sqrt(shape[0]!) : 1;
  const read = () => ({
    name,
    shape,
    stored: "F32",
    data: randomNormal(seed, elementCount(shape)).map((value) => value * spread),
  });
  return { name, shape, stored: "F32", read };
}
