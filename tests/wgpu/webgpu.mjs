// In place of the npm package webgpu: the WebGPU of the runtime itself.

export const globals = {};

/** Dawn's flags have no meaning here. Its device without computation does not exist here. */
export const create = (flags) => (flags.includes("backend=null") ? undefined : navigator.gpu);
