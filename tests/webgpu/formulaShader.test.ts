import { beforeAll, describe, expect, test } from "@jest/globals";

import { formula } from "../../web/src/formula/formula.js";
import type { FormulaData } from "../../web/src/formula/graph.js";
import { formulaForm } from "../../web/src/webgpu/formula/formulaForm.js";
import { formulaText } from "../../web/src/webgpu/formula/formulaText.js";
import { pipelineOf } from "../../web/src/webgpu/device/pipelines.js";
import type { Kernel, StoredDtype } from "../../web/src/webgpu/kernels/kernel.js";
import { kernelKey, shaderSource } from "../../web/src/webgpu/kernels/shader.js";
import { withPart } from "../../web/src/webgpu/kernels/withPart.js";
import type { AttentionFacts } from "../../web/src/webgpu/plan/facts.js";
import { planAttention } from "../../web/src/webgpu/plan/plan.js";
import { describeOnNullGpu, nullGpu, openTestDevice } from "./gpu.js";
import { DESKTOP, facts, INSPECTED } from "./planFacts.js";

interface Formulas {
  readonly score?: FormulaData;
  readonly visible?: FormulaData;
}

function factsOf(
  { score, visible }: Formulas,
  queryLength: number,
  headDim: number,
  key: StoredDtype = "float32",
): AttentionFacts {
  return facts(
    { numHeads: 1, queryLength, headDim, valueDim: headDim },
    {
      dtypes: { query: "float32", key, value: key },
      inPlace: key === "float32" ? [] : ["key", "value"],
      score: score?.graph,
      visible: visible?.graph,
      wanted: INSPECTED,
    },
  );
}

/** The kernels of a prefill with each kind of tile, of decoding and of an inspection. */
function kernelsOf(formulas: Formulas): Kernel[] {
  const facts = [
    factsOf(formulas, 100, 64),
    factsOf(formulas, 100, 32),
    factsOf(formulas, 1, 64, "float16"),
    factsOf(formulas, 100, 64, "int8"),
  ];
  const kernels = facts.flatMap((each) => {
    const { attend, inspect } = planAttention(each, DESKTOP);
    return [
      attend!.attend.kernel,
      ...(attend!.merge ? [attend!.merge.kernel] : []),
      ...inspect.flatMap(({ kernel, topK }) => [kernel, ...(topK ? [topK.kernel] : [])]),
    ];
  });
  return [...new Map(kernels.map((kernel) => [kernelKey(kernel), kernel])).values()];
}

const FORMULAS: Readonly<Record<string, Formulas>> = {
  "an ALiBi": { score: formula("s - slope[h] * abs(q - k)", { slope: [0.5, 0.25] }) },
  "causal documents": { visible: formula("doc[q] == doc[k] && k <= q", { doc: new Int32Array(4096) }) },
  "a limit alone": { visible: formula("abs(q - k) <= w", { w: 5 }) },
  "every operation": {
    score: formula(
      "s + t[q][k] * sin(k) - cos(s) + exp(s) / log(abs(k) + 1) + sqrt(u[k]) + tanh(s) + pow(s, 2) + sign(-s) + s % 3 + q % 5 + floor(k / 3) + floor(k / 4) + min(s, 1, k) + max(s, -Infinity) + clamp(s, -1, x) + (i > j || !(h == g) ? Sq : Skv) + D + b + (s != 1) + (k != 2) - NaN",
      { t: { data: new Float32Array(4), shape: [2, 2] }, u: [1.5], x: 2.5 },
    ),
    visible: formula(
      "sin(k) + cos(q) + exp(i) / log(j) + sqrt(u[k]) + tanh(x) + pow(k, 2) + pow(x, k) + sign(-i) + k % 3 + q % i + floor(k / 3) + min(k, 1, i) + max(k, -Infinity) + clamp(k, -1, x) + (i > j || !(h == g) ? Sq : Skv) + D + b + (k != 2) + t[q][k] < 5 && (k % 2 ? q > 3 : k <= q && abs(k) != 7)",
      { t: { data: new Float32Array(4), shape: [2, 2] }, u: [1.5], x: 2.5 },
    ),
  },
};

describe("shader text with formulas", () => {
  test("what only formulas need is left out without them, with the white space before it", () => {
    const text = "a;\n  with formula { b { c } }\n  let x = with formula { f( } y with formula { ) };";
    expect(withPart(text, "formula", false)).toBe("a;\n  let x = y;");
    expect(withPart(text, "formula", true)).toBe("a;\n   b { c } \n  let x =  f(  y  ) ;");
  });

  test("a call without formulas has no text of them", () => {
    for (const kernel of kernelsOf({})) expect(shaderSource(kernel)).not.toMatch(/formula/i);
  });

  test("kernels depend on the graphs, not on the parameters' values", () => {
    const { score } = FORMULAS["an ALiBi"] as { score: ReturnType<typeof formula> };
    const other = score.with({ slope: [1, 2, 3] });
    const keys = (formulas: Formulas) => kernelsOf(formulas).map(kernelKey);
    expect(keys({ score: other })).toEqual(keys({ score }));
    expect(keys({ score })).not.toEqual(keys({}));
  });
});

describeOnNullGpu("Dawn's validation of formulas", () => {
  let device: GPUDevice;
  beforeAll(async () => {
    device = await openTestDevice(nullGpu);
  });

  const cases = Object.entries(FORMULAS).flatMap(([name, formulas]) =>
    kernelsOf(formulas).map((kernel) => [`${name}: ${kernelKey(kernel)}`, kernel] as const),
  );
  test.each(cases)("accepts %s", async (_, kernel) => {
    const module = device.createShaderModule({ code: shaderSource(kernel) });
    expect((await module.getCompilationInfo()).messages.map(({ message }) => message)).toEqual([]);
    if (kernel.constants["Q_TILE"] !== 64 && kernel.name !== "attend_whole")
      await expect(pipelineOf("test", device, kernel)).resolves.toBeDefined();
  });
});

test("of a long visible formula no tile is asked", () => {
  const parts = (count: number) =>
    Array.from({ length: count }, (_, n) => `abs(q * ${n + 2} - k) % 7 < 2`).join(" || ");
  const restOver = (text: string) =>
    /fn rest_over[^}]*}/.exec(formulaText(formulaForm(undefined, formula(text).graph)!).tiles)![0];
  expect(restOver(parts(5))).toMatch(/range_/);
  expect(restOver(parts(20))).toBe("fn rest_over(tile: FormulaTile) -> u32 {\n  return NEVER | ALWAYS;\n}");
});
