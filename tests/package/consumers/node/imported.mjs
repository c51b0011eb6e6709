// node imported.mjs SCRIPT: imports a script of the page and prints its outcome. Nothing here ends the process.

await import(process.argv[2]);

console.log(JSON.stringify(await globalThis.outcome));
