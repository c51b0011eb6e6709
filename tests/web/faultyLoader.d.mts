export function faultyLoader(ending: "js" | "node.js"): string;
