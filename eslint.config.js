import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import globals from "globals";
import typescript from "typescript-eslint";

export default defineConfig(
  {
    ignores: [
      "build/",
      "dist/",
      "dist-demo/",
      "tests/package/consumers/{angular,jsx,react}/",
      "web/demo/embed/examples/",
    ],
  },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [typescript.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: "web/tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      // Numbers in messages are the point of most messages.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
    },
  },
  { files: ["**/*.{mjs,js}"], languageOptions: { globals: globals.node } },
);
