import type { PassOptions } from "headwise/models";

import type { ChangeKind, HeadChange } from "./modelProtocol.js";

/** Changes as `headGain` and `patch` of `model.run`. */
export function interventionsOf(
  changes: readonly HeadChange[],
  { names, heads, tokens }: { readonly names: readonly string[]; readonly heads: number; readonly tokens: number },
): Pick<PassOptions, "headGain" | "patch"> {
  const headGain: Record<string, number[]> = {};
  const patch: Record<string, object> = {};
  names.forEach((name, index) => {
    const own = changes.filter(({ layer, head }) => layer === index + 1 && head < heads);
    const of = (...kinds: ChangeKind[]) => own.filter(({ kind }) => kinds.includes(kind));
    const [off, mean, looking] = [of("off"), of("mean"), of("first", "previous")];
    if (off.length > 0)
      headGain[name] = Array.from({ length: heads }, (_, head) => Number(!off.some((it) => it.head === head)));
    if (mean.length > 0 || looking.length > 0)
      patch[name] = {
        ...(mean.length > 0 && { headOutputs: { heads: mean.map(({ head }) => head), data: "mean" } }),
        ...(looking.length > 0 && { probs: weightsOf(looking, tokens) }),
      };
  });
  return { headGain, patch };
}

/** The weights of heads that look at one token: `[heads, tokens, tokens]`. The first token looks at itself. */
function weightsOf(changes: readonly HeadChange[], tokens: number) {
  const data = new Float32Array(changes.length * tokens * tokens);
  changes.forEach(({ kind }, n) => {
    for (let query = 0; query < tokens; query++) {
      const key = kind === "first" ? 0 : Math.max(0, query - 1);
      data[(n * tokens + query) * tokens + key] = 1;
    }
  });
  return { heads: changes.map(({ head }) => head), data, shape: [changes.length, tokens, tokens] };
}
