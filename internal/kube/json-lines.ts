import { DomainError } from "../base/errors.ts";
import { LineCutter } from "../base/text/line-cutter.ts";

/**
 * Parses each line of a byte stream as JSON. Bytes after the last newline are dropped: the stream was cut.
 * @throws DomainError `exhausted` for a line of more than `maxBytes`, `unavailable` for one that is not JSON
 */
export async function* jsonLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<unknown> {
  const lines = new LineCutter(maxBytes);
  for await (const chunk of chunks) {
    for (const { bytes, lostBytes } of lines.push(chunk)) {
      if (lostBytes > 0) throw tooLong(maxBytes);
      if (bytes.length > 0) yield parsed(bytes);
    }
    if (lines.lostBytes > 0) throw tooLong(maxBytes);
  }
}

function tooLong(maxBytes: number): DomainError {
  return new DomainError("exhausted", `a line has more than ${maxBytes} bytes`);
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch (cause) {
    throw new DomainError("unavailable", `a line of ${line.length} bytes is not JSON`, { cause });
  }
}
