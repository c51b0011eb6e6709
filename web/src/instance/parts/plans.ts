// What `plan` needs.

export { Pace } from "../../auto/pace.js";
export { planCall } from "../callPlan.js";
export { outlinedProblem } from "../outline.js";
