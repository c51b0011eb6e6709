// The engine of `backend: "auto"`.

export { openAuto } from "../openAuto.js";
