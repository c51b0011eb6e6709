declare const HEADWISE_VERSION: string;

/** The package's version. The build writes it into the bundle; sources that are not built have "unbuilt". */
export const version = typeof HEADWISE_VERSION === "string" ? HEADWISE_VERSION : "unbuilt";
