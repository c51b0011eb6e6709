import { describe, expect, test } from "@jest/globals";

import { goalsOf } from "./isa/goals.mjs";
import { countsOf, loopsOf, parseListing } from "./isa/listing.mjs";
import { attentionProducts, tileOf } from "./isa/tile.mjs";
import { countTrips } from "./isa/trips.mjs";

const lines = (text) =>
  text
    .trim()
    .replaceAll(/^ *(?=[^B ])/gm, "\t")
    .replaceAll(/^ +(?=BB)/gm, "");

const tripsOf = (text) => {
  const listing = parseListing(lines(text));
  return countTrips(listing, loopsOf(listing)).map(({ passes }) => passes);
};

const one = (text) => countsOf(parseListing(`\t${text}`).instructions[0]);

describe("the trips of a loop", () => {
  test("come from a scalar counter, also when the compiler has unrolled two steps", () => {
    const loop = `
      s_mov_b32 s4, 0
    BB1:
      s_cmp_ge_u32 s4, 16                                         ; bf090410
      s_cbranch_scc1 BB3
    BB2:
      v_fmac_f32_e32 v1, v2, v3
      s_add_u32 s4, s4, 2
      s_branch BB1
    BB3:
      s_endpgm`;
    expect(tripsOf(loop)).toEqual([8]);
  });

  test("come from the number of the first lane where lanes share the work", () => {
    const loop = `
      s_movk_i32 s30, 0x80
      v_mov_b32_e32 v8, v0
      s_mov_b64 s[6:7], exec
    BB1:
      s_mov_b64 s[8:9], exec
      v_cmpx_le_u32_e32 0x200, v8
    BB2:
      s_andn2_b64 s[8:9], s[8:9], exec
      s_cbranch_scc0 BB4
    BB3:
      s_mov_b64 exec, s[8:9]
      ds_write_b128 v9, v[10:13]
      v_add_nc_u32_e32 v8, s30, v8
      s_branch BB1
    BB4:
      s_mov_b64 exec, s[6:7]
      s_endpgm`;
    expect(tripsOf(loop)).toEqual([4]);
  });

  test("come from a bound that the constants give, and from the check that comes first", () => {
    const loop = `
      s_mov_b32 s20, 5
      s_min_u32 s21, 8, s20
      s_mov_b64 s[10:11], 0xffffffff
    BB1:
      s_cmp_eq_i32 s10, 0
      s_cbranch_scc1 BB3
    BB2:
      s_cmp_ge_u32 s11, s21
      s_cbranch_scc1 BB3
      s_mov_b32 s12, s11
      s_add_u32 s11, s10, -1
      s_add_u32 s10, s12, 1
      s_xor_b32 s10, s10, s11
      s_xor_b32 s11, s10, s11
      s_xor_b32 s10, s10, s11
      s_branch BB1
    BB3:
      s_endpgm`;
    expect(tripsOf(loop)).toEqual([5]);
  });

  test("come from a check at the end of the loop", () => {
    const loop = `
      s_mov_b32 s4, 0
    BB1:
      s_add_u32 s4, s4, 1
      s_cmp_lt_u32 s4, 6
      s_cbranch_scc1 BB1
      s_endpgm`;
    expect(tripsOf(loop)).toEqual([6]);
  });

  test("are unknown if memory bounds the loop", () => {
    const loop = `
      s_buffer_load_dword s5, s[8:11], 0x10
      s_mov_b32 s4, 0
    BB1:
      s_cmp_ge_u32 s4, s5
      s_cbranch_scc1 BB3
      s_add_u32 s4, s4, 1
      s_branch BB1
    BB3:
      s_endpgm`;
    expect(tripsOf(loop)).toEqual([undefined]);
  });
});

describe("an instruction", () => {
  test("with a literal factor is no product", () => {
    expect(one("v_mul_f32_e32 v1, v2, v3")).toMatchObject({ vector: 1, products: 1, fused: 0 });
    expect(one("v_fma_f32 v1, -v2, v3, v1")).toMatchObject({ vector: 1, products: 1, fused: 1 });
    expect(one("v_mul_f32_e32 v1, 0x3fb8aa3b, v3")).toMatchObject({ vector: 1, products: 0 });
  });

  test("of both halves of a dual instruction counts", () => {
    const text = "\tv_dual_fmac_f32 v1, v2, v3 :: v_dual_mul_f32 v4, v5, v6";
    const counts = parseListing(text).instructions.map(countsOf);
    expect(counts.map(({ products, fused }) => [products, fused])).toEqual([[1, 1], [1, 0]]); // oxfmt-ignore
  });

  test("that reads LDS counts its words, in both families' names", () => {
    const words = ["ds_read_b128 v[1:4], v5", "ds_load_b128 v[1:4], v5", "ds_read2_b32 v[1:2], v5 offset1:1"];
    expect([...words, "ds_load_2addr_b64 v[1:4], v5"].map((text) => one(text).wordsRead)).toEqual([4, 4, 2, 4]);
  });
});

/** Two interior tiles: one lane has 8 products in each of `trips` trips; every tile loads one vec4. */
const listingWith = (trips) =>
  lines(`
    s_buffer_load_dword s5, s[8:11], 0x10
    s_mov_b32 s4, 0
  BB1:
    s_cmp_ge_u32 s4, s5
    s_cbranch_scc1 BB6
    s_barrier
    buffer_load_dwordx4 v[20:23], v24, s[12:15], 0 offen
    ds_write_b128 v25, v[20:23]
    s_barrier
    s_mov_b32 s6, 0
  BB2:
    s_cmp_ge_u32 s6, ${trips}
    s_cbranch_scc1 BB4
    v_lshlrev_b32_e32 v30, 4, v31
    ds_read_b128 v[1:4], v30
    ds_read_b64 v[5:6], v30
    v_mul_f32_e32 v10, v1, v5
    ${Array.from({ length: 7 }, (_, n) => `v_fmac_f32_e32 v1${n}, v${1 + (n % 4)}, v${5 + (n % 2)}`).join("\n    ")}
    s_add_u32 s6, s6, 1
    s_branch BB2
  BB4:
    v_exp_f32_e32 v40, v10
    s_add_u32 s4, s4, 1
    s_branch BB1
  BB6:
    s_endpgm`);

describe("a tile", () => {
  // 8 rows × 4 keys by 2 lanes, 1 + 1 wide: 32 products.
  const expected = attentionProducts({ rows: 8, keys: 4, width: 1, valueWidth: 1, threads: 2 });

  test("weights each loop by its trips", () => {
    expect(expected.products).toBe(32);
    const tile = tileOf(listingWith(4), expected);
    expect(tile).toMatchObject({ products: 32, fused: 28, vector: 1 + 4 * 9, wordsRead: 24, barriers: 2, memory: 1 });
  });

  test.each([3, 16])("with %d trips instead of 4 has other products than its shape: it is refused", (trips) => {
    expect(() => tileOf(listingWith(trips), expected)).toThrow(
      new RegExp(`no loop issues between 32 and 1\\d\\d products a pass.*${trips} trips: vector 9, products 8`, "s"),
    );
  });
});

describe("the goals", () => {
  const figures = { kind: "attention", width: 64, family: "NAVI21", spilled: 0, scratch: 0, waves: 2, barriers: 3, perWord: 4, useful: 0.76 }; // oxfmt-ignore
  const met = (more) => goalsOf({ ...figures, ...more }).map(({ isMet }) => isMet);

  test("take a larger share with fewer waves, or a smaller one with more", () => {
    expect(met({})).toEqual([true, true, true, true]);
    expect(met({ useful: 0.7 }).at(-1)).toBe(false);
    expect(met({ useful: 0.7, waves: 4 }).at(-1)).toBe(true);
  });

  test("refuse spills, barriers and few multiply-adds a word", () => {
    expect(met({ spilled: 1, barriers: 5, perWord: 2 })).toEqual([false, false, false, true]);
  });

  test("are for NAVI21 only", () => {
    expect(goalsOf({ ...figures, family: "GFX1100" })).toEqual([]);
  });
});
