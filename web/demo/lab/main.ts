import "katex/dist/katex.min.css";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/figures.css";
import "./styles/media.css";
// The page shows the first picture before any room is loaded.
import "./rooms/lesson/room.css";
import "./rooms/sentence/picture.css";

import { isFigure, showFigure } from "./embed/figurePage.js";
import { Lab } from "./shell/lab.js";

if (isFigure) showFigure();
new Lab();
