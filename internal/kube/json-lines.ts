import { DomainError } from "../base/errors.ts";

const NEWLINE = 0x0a;

/**
 * Whole lines of a byte stream, parsed as JSON. What stands behind the last newline is dropped: the stream was cut.
 * @throws DomainError `exhausted` for a line of more than `maxBytes`, `unavailable` for one that is not JSON
 */
export async function* jsonLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<unknown> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...held, chunk.subarray(start, end)]);
      [held, heldBytes, start] = [[], 0, end + 1];
      if (line.length > 0) yield parsed(line);
    }
    if (start === chunk.length) continue;
    held.push(chunk.subarray(start));
    heldBytes += chunk.length - start;
    if (heldBytes > maxBytes) throw new DomainError("exhausted", `a line has more than ${maxBytes} bytes`);
  }
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch (cause) {
    throw new DomainError("unavailable", `a line of ${line.length} bytes is not JSON`, { cause });
  }
}
