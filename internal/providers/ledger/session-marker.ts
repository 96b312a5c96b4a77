/** The environment variable that every process of a session has. */
export const MARKER = "GT_BRIDGE_SESSION";
