import type { TypedTensor } from "headwise";
import { AttentionHeads, AttentionMap, AttentionProvider, useAttention } from "headwise/react";
import type { AttentionMap as MapElement } from "headwise/viz";
import { useRef } from "react";

const x = new Float32Array(4);
const tokens = { data: x, shape: [2, 2] };

export function Typed({ late }: { readonly late?: typeof tokens }) {
  const map = useRef<MapElement>(null);
  const { data, error, report } = useAttention(late, tokens, tokens, { causal: undefined, returns: { lse: true } });
  const lse: TypedTensor<"float32"> | undefined = data?.lse;
  const output: TypedTensor<"float32"> | undefined = data?.output;
  // @ts-expect-error: probs were not asked for, so they may be absent
  const probs: TypedTensor<"float32"> | undefined = data && (data.probs satisfies TypedTensor<"float32">);
  return (
    <AttentionProvider>
      <AttentionMap
        ref={map}
        className="wide"
        probs={probs}
        range={[-2, 2]}
        onViewChange={({ detail }) => map.current?.toCSV({ queries: detail.queries })}
      />
      <AttentionHeads enabled={[0]} onTokenSelect={({ detail }) => detail.queries.length} title={error?.message} />
      {[lse?.shape.length, output?.dtype, report?.backend]}
    </AttentionProvider>
  );
}

export function Wrong() {
  // @ts-expect-error: the component aborts its calls itself
  useAttention(tokens, tokens, tokens, { signal: new AbortController().signal });
  // @ts-expect-error: an option that does not exist
  useAttention(tokens, tokens, tokens, { casual: true });
  return [
    // @ts-expect-error: a palette that does not exist
    <AttentionMap key={0} palette="rainbow" />,
    // @ts-expect-error: an event of the other element
    <AttentionMap key={1} onTokenSelect={() => 0} />,
    // @ts-expect-error: it has no children
    <AttentionHeads key={2}>text</AttentionHeads>,
  ];
}
