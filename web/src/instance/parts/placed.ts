// How backend "auto" places layers and caches.

export * from "../../auto/placing.js";
