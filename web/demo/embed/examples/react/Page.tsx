import { useState } from "react";

export function Page() {
  const [left, setLeft] = useState(7);
  return (
    <main>
      <label>
        Window
        <input type="range" min={1} max={12} value={left} onChange={({ target }) => setLeft(target.valueAsNumber)} />
      </label>
      <headwise-figure room="masks" settings={`left=${left}`} label="A sliding window">
        <p>Every token sees {left} tokens before it.</p>
      </headwise-figure>
    </main>
  );
}
