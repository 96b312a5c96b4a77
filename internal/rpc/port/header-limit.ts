/** As HTTP/2 counts it and as our SETTINGS say it: names, values and 32 bytes for each. HTTP/1.1 has the same limit. */
export const MAX_HEADER_BYTES = 16 * 1024;

const BYTES_PER_HEADER = 32;

/**
 * Node tells an HTTP/2 caller our limit and then takes four times as much.
 * @param rawHeaders names and values in turn
 */
export function hasTooManyHeaders(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * BYTES_PER_HEADER;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > MAX_HEADER_BYTES;
}
