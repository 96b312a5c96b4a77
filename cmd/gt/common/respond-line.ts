import type { PlaceConfig } from "./place-config.ts";

/** The words that give one answer from a shell, with the flags that lead to the same agent. */
export function respondLine(agent: string, choice: string, place: PlaceConfig): string {
  const { host, port, server, socket, localOnly, tls, profile } = place;
  const flags = Object.entries({
    host,
    port,
    server,
    socket: localOnly ? socket : undefined,
    ca: tls.ca,
    cert: tls.cert,
    key: tls.key,
    "tls-dir": tls.dir,
    "agent-profile": profile,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
  return ["gt", "respond", agent, choice, ...flags].map(shellWord).join(" ");
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
