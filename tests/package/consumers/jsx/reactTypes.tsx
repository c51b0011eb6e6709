import { useRef, useState } from "react";

import type { AttentionMap } from "headwise/viz";
import type {} from "headwise/viz/react";

const probs = { data: new Float32Array([1, 0, 0.5, 0.5]), shape: [1, 2, 2] };

export function Page() {
  const map = useRef<AttentionMap>(null);
  const [head, setHead] = useState(-1);
  return (
    <main>
      <attention-map
        ref={map}
        className="wide"
        style={{ height: 300 }}
        probs={probs}
        causal
        kind="scores"
        range={[-2, 2]}
        onheadchange={({ detail }) => setHead(detail.head)}
      />
      <attention-heads probs={probs} threshold={0.1} enabled={[0]} label="Layer 1" />
      <output>{`head ${head}, causal ${map.current?.causal}`}</output>
    </main>
  );
}

export const wrong = [
  // @ts-expect-error: a palette that does not exist
  <attention-map key={0} palette="rainbow" />,
  // @ts-expect-error: a property of the other element
  <attention-heads key={1} kind="scores" />,
  // @ts-expect-error: not an element of ours
  <attention-tree key={2} />,
];
