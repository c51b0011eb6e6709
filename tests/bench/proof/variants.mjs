// The variants of the kernels: each tiling, on devices with and without the features that change the kernels.

const FEATURES = ["subgroups", "shader-f16"];

/**
 * @param {string[]} tilings
 * @param {{ has(name: string): boolean }} features - of the adapter
 * @returns {{ tiling: string, subgroups: boolean, halves: boolean }[]}
 */
export function variantsOf(tilings, features) {
  const choices = (name) => (features.has(name) ? [true, false] : [false]);
  return tilings.flatMap((tiling) =>
    choices("subgroups").flatMap((subgroups) => choices("shader-f16").map((halves) => ({ tiling, subgroups, halves }))),
  );
}

export function nameOf({ tiling, subgroups, halves }) {
  return `${tiling}, ${subgroups ? "with" : "without"} subgroups, ${halves ? "with" : "without"} shader-f16`;
}

const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupsPerDimension",
  "maxStorageBuffersPerShaderStage",
];

/** Opens a device with the adapter's limits, and with these features of it beside timestamps. */
export async function openDevice(adapter, { subgroups = true, halves = true } = {}) {
  const refused = [...(subgroups ? [] : ["subgroups"]), ...(halves ? [] : ["shader-f16"])];
  const wanted = [...FEATURES, "timestamp-query"].filter((name) => !refused.includes(name));
  const wholeWords = (limit) => limit - (limit < 2 ** 16 ? 0 : limit % 4);
  return adapter.requestDevice({
    label: "headwise proof",
    requiredFeatures: wanted.filter((name) => adapter.features.has(name)),
    requiredLimits: Object.fromEntries(LIMITS.map((name) => [name, wholeWords(adapter.limits[name])])),
  });
}

/** What the record says of an adapter. */
export function describeAdapter({ info, features, limits }) {
  const { vendor = "", architecture = "", device = "", description = "", isFallbackAdapter = false } = info ?? {};
  const software =
    isFallbackAdapter || /swiftshader|llvmpipe|lavapipe|basic render/i.test(`${architecture} ${description}`);
  return {
    ...{ vendor, architecture, device, description, software },
    subgroups: features.has("subgroups") ? [info?.subgroupMinSize ?? 0, info?.subgroupMaxSize ?? 0] : null,
    features: [...features].sort(),
    limits: Object.fromEntries(LIMITS.map((name) => [name, limits[name]])),
  };
}
