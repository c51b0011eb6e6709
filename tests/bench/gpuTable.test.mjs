// npm run gpu:proof -- --record: what goes from a proof into the table of the documents.

import { expect, test } from "@jest/globals";

import { tableOf } from "./proof/keep.mjs";

const measured = (name, tiling, gpuMilliseconds, milliseconds, group = "dense") => ({
  ...{ case: name, tiling, group, gpuMilliseconds, milliseconds, gflops: 24_440, gigabytesPerSecond: 1805.4 },
  ...{ shareOfMultiplyAdds: 0.439, shareOfBandwidth: 0.712 },
});

const variant = (tiling) => ({ tiling, ran: 600, right: 600 });

const hostOf = (software) => ({
  host: { name: "Node 20", system: "linux x64" },
  adapter: { device: "a GPU", description: "a driver", software },
  table: [variant("narrow"), variant("wide")],
  rates: { f32: 55.67e12, copy: 2536.2e9 },
  speed: [],
});
const [REAL, SOFTWARE] = [hostOf(false), hostOf(true)];
const proofOf = (hosts) => ({ date: "2026-11-26T16:15:47.807Z", hosts });

test("a proof without a real GPU is refused", () => {
  for (const hosts of [[SOFTWARE], [{ host: SOFTWARE.host, notRun: "no adapter" }], [{ ...REAL, rates: null }]])
    expect(() => tableOf(proofOf(hosts))).toThrow("--record: no host of this file has measured a real GPU");
});

test("the table has the times of the default tiling, but no GPU's time above that of the call", () => {
  const speed = [
    measured("dense", "narrow", 0.527, 0.548),
    measured("decode", "narrow", 0.0363, 0.43, "decode"),
    measured("wrong", "narrow", 1.68, 0.546),
    measured("dense", "wide", 1.03, 1.05),
  ];
  const { rows, notes, date } = tableOf(proofOf([SOFTWARE, { ...REAL, speed }]));
  expect(rows).toEqual({
    dense: ["dense", "0.527", "24.4 TFLOP/s", "44 % of multiply-adds", "0.548"],
    decode: ["decode", "0.036", "1,805 GB/s", "71 % of copying", "0.430"],
  });
  expect(notes[0]).toBe("1,200 of 1,200 cases on 2 variants of the kernels were right.");
  expect(date).toBe("2026-11-26");
});
