/**
 * The limit of a request's headers, as our SETTINGS announce it and HTTP/2 counts them: names, values and 32 bytes for
 * each header. Also applies to HTTP/1.1.
 */
export const MAX_HEADER_BYTES = 16 * 1024;

const BYTES_PER_HEADER = 32;

/**
 * Node announces our limit to an HTTP/2 caller, but accepts four times as much.
 * @param rawHeaders names and values alternately
 */
export function hasTooManyHeaders(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * BYTES_PER_HEADER;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > MAX_HEADER_BYTES;
}
