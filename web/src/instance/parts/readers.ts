// What an instance reads for calls other than attention.

export { backwardProblem } from "../../attention/backwardProblem.js";
export { mergeProblem } from "../../attention/mergeProblem.js";
export { linearBackwardProblem, linearProblem, uploadWeightProblem } from "../../linear/linearProblem.js";
export { UploadedWeight } from "../../linear/uploadedWeight.js";
export { rotaryProblem } from "../../position/rotaryProblem.js";
