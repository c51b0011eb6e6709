// What a bundler makes a program for servers of: it prints the outcome of the page's script.

import "./main.js";

globalThis.outcome.then((outcome) => console.log(JSON.stringify(outcome)));
