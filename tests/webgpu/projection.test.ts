import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";

import { planProjection, PROJECT_TILE } from "../../web/src/webgpu/layer/projection.js";

const plan = (rows: number, inputs: number, columns: number, tile4: 16 | 32 = 16) =>
  planProjection({ rows, columns }, { in4: Math.ceil(inputs / 4), tile4, dtype: "float32" });

describe("a plan of a projection", () => {
  test("parts cover the depth once, in whole tiles, and no part is empty", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 1, max: 20000 }),
        fc.integer({ min: 1, max: 20000 }),
        fc.constantFrom(16 as const, 32 as const),
        (rows, inputs, columns, tile4) => {
          const { parts, part4, sum, columnTiles } = plan(rows, inputs, columns, tile4);
          const in4 = Math.ceil(inputs / 4);
          expect(part4 % (PROJECT_TILE.depth / 4)).toBe(0);
          expect(parts * part4).toBeGreaterThanOrEqual(in4);
          expect((parts - 1) * part4).toBeLessThan(in4);
          expect(sum === undefined).toBe(parts === 1);
          expect(columnTiles * 4 * tile4).toBeGreaterThanOrEqual(columns);
        },
      ),
    );
  });

  test("one row of a large layer has enough workgroups for a large GPU", () => {
    for (const columns of [1024, 4096, 6144]) {
      const { product } = plan(1, 4096, columns);
      expect(product.kernel.name).toBe("project_rows");
      expect(product.workgroups).toBeGreaterThanOrEqual(256);
    }
  });

  test("a few rows read each weight once, and many rows use tiles", () => {
    expect(plan(8, 4096, 4096).product.kernel.constants).toMatchObject({ ROWS: 8 });
    expect(plan(1, 4096, 4096).product.kernel.constants).toMatchObject({ ROWS: 1 });
    expect(plan(128, 768, 768).product.kernel.name).toBe("project");
    expect(plan(2048, 768, 2304)).toMatchObject({ parts: 1, product: { workgroups: 32 * 36 } });
  });

  test("few tiles of great depth are split", () => {
    expect(plan(128, 768, 768)).toMatchObject({ parts: 3, product: { workgroups: 72 } });
  });
});
