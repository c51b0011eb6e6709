import "katex/dist/katex.min.css";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/rooms.css";

import { Lab } from "./shell/lab.js";

new Lab();
