export default { outDir: "site" };
