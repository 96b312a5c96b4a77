import { randomUUID } from "node:crypto";
import { timedCall } from "../../internal/base/abort.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { isRefusal, readWork } from "../../internal/relay/acp/work-message.ts";
import { readLane } from "../../internal/relay/lanes/lane-claim.ts";
import type { Bus } from "../../internal/relay/nats/bus.ts";
import { LaneLog } from "../../internal/relay/nats/lane-log.ts";
import { publishOnce } from "../../internal/relay/nats/publish.ts";
import { messageId, subjects } from "../../internal/relay/nats/subjects.ts";
import type { SendCommand } from "./config.ts";
import { needStream, type Printing, withBus } from "./open-bus.ts";
import { resultsOf } from "./result-lines.ts";

/** Publishes work; with `wait` prints its results. Returns 0 once the work is stored, or its last result is printed. */
export function send(command: SendCommand, printing: Printing): Promise<number> {
  return withBus(command.nats, printing, async (bus) => {
    await needStream(bus, bus.streams.work);
    const { state } = await bus.jsm.streams.info(bus.streams.results);
    const id = command.id ?? `msg_${randomUUID()}`;
    const { sessionId, role } = command;
    const body = JSON.stringify({ id, session_id: sessionId, ...messageOf(command) });
    const isDone =
      command.wait && command.id !== undefined && (await isDoneBefore(bus, command, { id, body }, printing));
    const msgId = messageId(command, id);
    const ack = await publishOnce(bus, { subject: subjects.work({ sessionId, role }), body, msgId }).catch(
      (cause: unknown) => {
        throw new DomainError("unavailable", `the work was not stored: ${errorText(cause)}`, { cause });
      },
    );
    if (!command.wait) {
      printing.out.line(printable`${id} is stored${ack.duplicate ? " already" : ""} (${ack.stream} ${ack.seq})`);
      return 0;
    }
    return await printResults(bus, command, { id, from: isDone || ack.duplicate ? 1 : state.last_seq + 1 }, printing);
  });
}

/**
 * True if the lane has done this work, which it does not repeat: its results are those of the first time.
 * @throws DomainError `invalid` if the lane knows other work by this id
 */
async function isDoneBefore(
  bus: Bus,
  { sessionId, role }: SendCommand,
  { id, body }: { readonly id: string; readonly body: string },
  { clock }: Printing,
): Promise<boolean> {
  const lane = { sessionId, role };
  const { done, prompted, answered } = await readLane(new LaneLog(bus, clock, lane));
  const work = readWork(Buffer.from(body), { ...lane, maxBytes: Number.POSITIVE_INFINITY });
  const known = done.get(id) ?? [prompted, answered].find((turn) => turn?.id === id)?.hash;
  if (known === undefined || isRefusal(work)) return false;
  if (known !== work.hash) throw new DomainError("invalid", `id_reused: other work of the lane has the id ${id}`);
  return done.has(id) || answered?.id === id;
}

function messageOf({ role, task, requirements, toolId, continues }: SendCommand): object {
  if (task === "") throw new DomainError("invalid", "the task is missing", { fields: { hint: 'relay send … "TASK"' } });
  if (toolId !== undefined) return { type: "tool_result", payload: { tool_id: toolId, content: task } };
  const payload = {
    task,
    requirements: requirements.length > 0 ? requirements : undefined,
    continue: continues || undefined,
  };
  return { type: `work.${role}`, payload };
}

async function printResults(
  bus: Bus,
  command: SendCommand,
  { id, from }: { readonly id: string; readonly from: number },
  { out, clock, signal }: Printing,
): Promise<number> {
  const limit = { ms: command.timeoutMs, what: "the results" };
  return await timedCall(clock, limit, signal, async (stop) => {
    for await (const line of resultsOf(bus, subjects.results(command), from, stop)) {
      if (line.id !== id) continue;
      out.line(printable`${line.text}`);
      if (line.isLast) return 0;
    }
    throw stop.reason;
  });
}
