const { createAttention } = require("headwise");

import("./compute.js").then(async ({ report }) => {
  report(createAttention({ threads: 2 }));
  console.log(JSON.stringify(await globalThis.outcome));
});
