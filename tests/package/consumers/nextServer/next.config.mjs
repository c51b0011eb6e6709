export default { output: "export", distDir: "site", serverExternalPackages: ["headwise"] };
