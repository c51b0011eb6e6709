// By import, and by require in required.js: both print the outcome and end by themselves.

import "./mainCore.js";

console.log(JSON.stringify(await globalThis.outcome));
