// Jest transform: a shader is a string, as in the bundle.

export default {
  process: (source) => ({ code: `export default ${JSON.stringify(source)};` }),
};
