import "katex/dist/katex.min.css";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/figures.css";
import "./styles/media.css";

import { isFigure, showFigure } from "./embed/figurePage.js";
import { Lab } from "./shell/lab.js";

if (isFigure) showFigure();
new Lab();
