import "katex/dist/katex.min.css";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/figures.css";
// The page shows the first picture before any room is loaded.
import "./rooms/sentence/picture.css";

import { Lab } from "./shell/lab.js";

new Lab();
