// node exportedNames.mjs FILE...: prints the names that `import` finds in each file.

const namesIn = async (file) => Object.keys(await import(file));

console.log(JSON.stringify(await Promise.all(process.argv.slice(2).map(namesIn))));
