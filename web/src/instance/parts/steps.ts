// What `record` needs.

export { recordStep } from "../../step/step.js";
