/* global document */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./App.tsx";
import { Picture } from "./Picture.tsx";

createRoot(document.querySelector("#root")).render(
  <StrictMode>
    <App />
    <Picture />
  </StrictMode>,
);
