/* global document */
import { defineElements } from "headwise/viz";
import { createRoot } from "react-dom/client";

import { Page } from "./reactTypes.tsx";

defineElements();
createRoot(document.body.appendChild(document.createElement("div"))).render(<Page />);
