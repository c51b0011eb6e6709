/** Where a layer or a cache lies: in the engine of this name. */
export type Place = "wasm" | "webgpu";

/** Where a layer or a cache shall lie. `"auto"`: where its calls are predicted to be fastest. */
export type PlaceChoice = "auto" | Place;

export const PLACE_CHOICES = ["auto", "wasm", "webgpu"] as const;
