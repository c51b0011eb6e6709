// What `plan` needs.

export { planCall } from "../callPlan.js";
export { outlinedProblem } from "../outline.js";
