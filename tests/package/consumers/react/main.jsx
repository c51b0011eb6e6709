/* global document */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./App.tsx";
import { Picture } from "./Picture.tsx";

const tokens = { data: new Float32Array([1, 0, 0, 1]), shape: [2, 2] };

createRoot(document.querySelector("#root")).render(
  <StrictMode>
    <App />
    <Picture q={tokens} k={tokens} v={tokens} />
  </StrictMode>,
);
