import { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import type { Bus } from "../../internal/relay/nats/bus.ts";
import { natsHeaders, publishOnce } from "../../internal/relay/nats/publish.ts";
import { readStream } from "../../internal/relay/nats/stream-reader.ts";
import { laneOfSubject, subjects } from "../../internal/relay/nats/subjects.ts";
import type { DeadCommand } from "./config.ts";
import { needStream, type Printing, withBus } from "./open-bus.ts";

/** Lists the dead letters, or shows, requeues or deletes one. */
export function dead(command: DeadCommand, printing: Printing): Promise<number> {
  const { action, seq, sessionId } = command;
  const { out } = printing;
  return withBus(command.nats, printing, async (bus) => {
    await needStream(bus, bus.streams.dead);
    if (action === "ls") {
      const subject = `sessions.${sessionId ?? "*"}.dead.*`;
      const messages = await readStream(bus, { stream: bus.streams.dead, subject });
      for (const { seq: number, subject, data, headers, storedAt } of messages) {
        const reason = headers?.get("Relay-Reason") ?? "";
        const lane = laneOfSubject(subject);
        const where = `${lane?.sessionId}:${lane?.role}`;
        out.line(
          printable`${String(number)}  ${new Date(storedAt).toISOString()}  ${where}  ${reason}  ${data.length} bytes`,
        );
      }
      return 0;
    }
    const letter = await letterOf(bus, seq, sessionId);
    if (action === "show") {
      out.line(printable`${letter.subject}  ${letter.reason}`);
      out.line(printable`${new TextDecoder().decode(letter.data)}`);
      return 0;
    }
    if (action === "requeue") {
      const lane = laneOfSubject(letter.subject);
      if (lane === undefined) throw new DomainError("invalid", `${letter.subject} is not a lane`);
      if (letter.from !== "")
        throw new DomainError("invalid", `${seq} was not work: it was published on ${letter.from}`);
      const headers = natsHeaders({ "Relay-Requeued": String(seq) });
      await publishOnce(bus, { subject: subjects.work(lane), body: letter.data, headers });
    }
    await bus.jsm.streams.deleteMessage(bus.streams.dead, seq);
    out.line(printable`${action === "requeue" ? "back in its lane" : "dropped"}: ${String(seq)}`);
    return 0;
  });
}

async function letterOf(bus: Bus, seq: number, sessionId: string | undefined) {
  const found = await bus.jsm.streams.getMessage(bus.streams.dead, { seq }).catch(() => null);
  const isOthers = sessionId !== undefined && found !== null && laneOfSubject(found.subject)?.sessionId !== sessionId;
  if (found === null || isOthers) {
    const whose = sessionId === undefined ? "" : ` of ${sessionId}`;
    throw new DomainError("not-found", `there is no dead letter ${seq}${whose}`);
  }
  const [reason, from] = ["Relay-Reason", "Relay-Subject"].map((name) => found.header?.get(name) ?? "");
  return { subject: found.subject, data: found.data, reason: reason ?? "", from: from ?? "" };
}
