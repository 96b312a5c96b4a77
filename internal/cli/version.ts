import manifest from "../../package.json" with { type: "json" };

/** The version of this product, as in its package.json. */
export const version: string = manifest.version;
