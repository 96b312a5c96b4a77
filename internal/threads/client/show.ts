import { asObjects, asText, type Json, objectOf } from "../../base/json-fields.ts";
import { PrintableText, printable } from "../../base/printable-text.ts";
import type { Output } from "../../cli/output.ts";

/** A thread on one line: id, status, title and marks. */
export function threadLine(out: Output, thread: Json): PrintableText {
  const unread = Number(thread["unread_count"] ?? 0);
  const marks = [
    thread["disputed"] === true ? "disputed" : "",
    thread["needs_human_decision"] === true ? "needs a decision" : "",
    unread > 0 ? `${unread} unread` : "",
  ].filter((one) => one !== "");
  const status = asText(thread["status"]);
  const shown = out.paint(status === "active" ? "green" : status === "blocked" ? "red" : "dim", status.padEnd(8));
  const more = marks.length === 0 ? "" : ` (${marks.join(", ")})`;
  return printable`${asText(thread["thread_id"])}  ${shown}  ${asText(thread["title"])}${more}`;
}

/** Prints a message: a header line, then its text, indented. */
export function printMessage(out: Output, message: Json): void {
  const sender = objectOf(message["sender"]);
  const event = asText(message["event_type"]);
  const metadata = objectOf(message["metadata"]);
  const place = ["path", "line", "commit", "ref"]
    .map((name) => metadata[name])
    .filter((one) => typeof one === "string" || typeof one === "number")
    .join(":");
  const to = [...texts(message["to"]), ...texts(message["to_role"]).map((one) => `role ${one}`)].join(", ");
  const what = [event, place, to === "" ? "" : `→ ${to}`].filter((one) => one !== "").join(" ");
  const head = printable`#${Number(message["seq"])} ${asText(message["created_at"])} ${asText(sender["agent_id"])}`;
  const text = message["erased"] === true ? "(erased)" : asText(message["text"]);
  out.line(printable`${out.paint("bold", head)}${what === "" ? "" : ` ${what}`}`);
  for (const line of text.split("\n")) out.line(printable`    ${line}`);
}

/** Prints a line for each participant. */
export function printParticipants(out: Output, participants: unknown): void {
  for (const one of asObjects(participants)) {
    const role = asText(one["role"]);
    const facts = [
      role,
      asText(one["kind"]),
      one["known"] === true ? "" : "not seen yet",
      `wake ${asText(one["wake"])}`,
    ];
    out.line(printable`  ${asText(one["agent_id"])}  ${facts.filter((fact) => fact !== "").join(", ")}`);
  }
}

/** Prints a wake: id, state, agent, outcome and cause of a block. */
export function printWake(out: Output, wake: Json): void {
  const facts = [asText(wake["outcome"]), wake["blocked_by"] === "" ? "" : `blocked by ${asText(wake["blocked_by"])}`];
  const more = facts.filter((one) => one !== "").join(", ");
  const state = asText(wake["state"]);
  const colour = ["SUBMITTED", "ACKED"].includes(state)
    ? "green"
    : ["UNKNOWN", "FAILED"].includes(state)
      ? "red"
      : "yellow";
  out.line(
    printable`${asText(wake["wake_id"])}  ${out.paint(colour, state)}  ${asText(wake["agent_id"])}${more === "" ? "" : `  ${more}`}`,
  );
}

/** Prints an escalation: its state, severity, thread and owner, then its reason. */
export function printEscalation(out: Output, one: Json): void {
  const state = asText(one["state"]);
  const colour = state === "open" ? "red" : state === "acknowledged" ? "yellow" : "dim";
  const facts = printable`${asText(one["severity"])}, ${asText(one["thread_id"])}, for ${asText(one["owner"])}`;
  out.line(printable`${asText(one["escalation_id"])}  ${out.paint(colour, state)}  ${facts}`);
  out.line(printable`    ${asText(one["reason"])}`);
}

export function printJson(out: Output, value: unknown): void {
  out.line(PrintableText.json(value));
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
