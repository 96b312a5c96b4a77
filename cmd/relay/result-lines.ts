import type { Bus } from "../../internal/relay/nats/bus.ts";
import { followStream } from "../../internal/relay/nats/follow-stream.ts";
import type { ReadMessage } from "../../internal/relay/nats/stream-reader.ts";

/** A line of `relay results`: the body of a result as `text`, and facts from it. */
export interface ResultLine {
  readonly id: string;
  readonly type: string;
  readonly isLast: boolean;
  readonly text: string;
}

/** Reads a result. Undefined: the body is not a relay's. */
export function resultLine({ data }: ReadMessage): ResultLine | undefined {
  const text = new TextDecoder().decode(data);
  try {
    const { id, type, part, parts } = JSON.parse(text) as Record<string, unknown>;
    if (typeof id !== "string" || typeof type !== "string") return undefined;
    return { id, type, isLast: part === parts, text };
  } catch {
    return undefined;
  }
}

/** Yields results of a session from sequence `from` on, then new ones, until the signal. */
export async function* resultsOf(
  bus: Bus,
  subject: string,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<ResultLine> {
  for await (const message of followStream(bus, { stream: bus.streams.results, subject, from }, signal)) {
    const line = resultLine(message);
    if (line !== undefined) yield line;
  }
}
