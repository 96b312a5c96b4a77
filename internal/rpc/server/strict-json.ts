/**
 * Options for calls that start, stop or type, none of which may be half done: refuses JSON with an unknown field or
 * invalid UTF-8. A binary message with invalid UTF-8 is refused without these options.
 */
export const STRICT_JSON = {
  jsonOptions: { ignoreUnknownFields: false, textDecoder: new TextDecoder("utf-8", { fatal: true }) },
} as const;
