import { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { readStream } from "../../internal/relay/nats/stream-reader.ts";
import type { ResultsCommand } from "./config.ts";
import { needStream, type Printing, withBus } from "./open-bus.ts";
import { resultLine, resultsOf } from "./result-lines.ts";

/** Prints the results of a session, one JSON line each. */
export function results(command: ResultsCommand, printing: Printing): Promise<number> {
  const { sessionId, role = "*", id, follow } = command;
  const { out, signal } = printing;
  return withBus(command.nats, printing, async (bus) => {
    const stream = bus.streams.results;
    await needStream(bus, stream);
    const subject = `sessions.${sessionId}.results.${role}`;
    if (follow) {
      for await (const line of resultsOf(bus, subject, 1, signal)) {
        if (id === undefined || line.id === id) out.line(printable`${line.text}`);
      }
      return 0;
    }
    const lines = (await readStream(bus, { stream, subject }))
      .map(resultLine)
      .filter((line) => line !== undefined && (id === undefined || line.id === id));
    if (lines.length === 0) throw new DomainError("not-found", `there are no results of ${id ?? sessionId}`);
    for (const line of lines) out.line(printable`${line?.text ?? ""}`);
    return 0;
  });
}
