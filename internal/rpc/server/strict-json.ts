/**
 * Options of calls that start, stop or type. Nothing of that is done by half: JSON with a field that is not known, or
 * that is not UTF-8, is no request. A binary message that is not UTF-8 is refused without them.
 */
export const STRICT_JSON = {
  jsonOptions: { ignoreUnknownFields: false, textDecoder: new TextDecoder("utf-8", { fatal: true }) },
} as const;
