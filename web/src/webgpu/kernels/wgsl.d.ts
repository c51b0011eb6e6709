/** Shader text. The bundler and the tests load `.wgsl` files as strings. */
declare module "*.wgsl" {
  const source: string;
  export default source;
}
