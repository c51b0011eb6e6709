// What `plan` needs.

export { Pace } from "../../calibration/pace.js";
export { planCall } from "../callPlan.js";
export { outlinedProblem } from "../outline.js";
