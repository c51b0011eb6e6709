declare const HEADWISE_VERSION: string;

/** The package's version, written in by the build; unbuilt sources have none. */
export const version = typeof HEADWISE_VERSION === "string" ? HEADWISE_VERSION : "unbuilt";
