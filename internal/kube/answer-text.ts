/**
 * Reads a whole response as text.
 *
 * @throws RangeError for a response of more than `maxBytes`, which is not read further
 */
export async function wholeText(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const bytes = await firstBytes(chunks, maxBytes + 1);
  if (bytes.length > maxBytes) throw new RangeError(`the answer has more than ${maxBytes} bytes`);
  return bytes.toString("utf8");
}

/** The first `maxBytes` of a response as text; the rest is not read. */
export async function leadingText(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  return (await firstBytes(chunks, maxBytes)).toString("utf8");
}

async function firstBytes(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const held: Uint8Array[] = [];
  let left = maxBytes;
  for await (const chunk of chunks) {
    held.push(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) break;
  }
  return Buffer.concat(held);
}
