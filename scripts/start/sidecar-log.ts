/** An event that a line of the sidecar's log reports. */
export type SidecarNews =
  | { readonly type: "serving"; readonly listen: string }
  | { readonly type: "nudge-ended"; readonly requestId: string; readonly sender: string; readonly outcome: string }
  | { readonly type: "failure"; readonly text: string };

/** Parses one line of a gt-sidecar's stderr; undefined if it reports none of these events. */
export function readLogLine(line: string): SidecarNews | undefined {
  const record = parse(line);
  if (record === undefined) return line.includes(": error: ") ? { type: "failure", text: line } : undefined;
  const { msg, listen, request_id, sender, outcome, level, err } = record;
  if (msg === "serving" && typeof listen === "string") return { type: "serving", listen };
  if (msg === "nudge ended" && typeof request_id === "string") {
    return { type: "nudge-ended", requestId: request_id, sender: String(sender ?? ""), outcome: String(outcome ?? "") };
  }
  if (typeof level !== "number" || level < 50) return undefined;
  const detail = typeof err === "object" && err !== null && "message" in err ? `: ${String(err.message)}` : "";
  return { type: "failure", text: `${String(msg)}${detail}` };
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
