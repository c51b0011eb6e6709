const { createAttention } = require("headwise/inline");

import("./compute.js").then(async ({ report }) => {
  report(createAttention());
  console.log(JSON.stringify(await globalThis.outcome));
});
