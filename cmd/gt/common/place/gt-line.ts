import { plainText } from "../../../../internal/base/sanitise.ts";
import type { PlaceConfig } from "./place-config.ts";

/** A call of `gt` as it is typed into a shell, with the flags in use that lead to the same agent. */
export function gtLine(words: readonly string[], place: PlaceConfig): string {
  const { host, port, server, cluster, socket, localOnly, tls, profile, profileName, insecure, env } = place;
  const flags = Object.entries({
    host: host === env["GT_SIDECAR_HOST"] ? undefined : host,
    port: String(port) === env["GT_SIDECAR_PORT"] ? undefined : port,
    server: server === env["GT_SERVER"] ? undefined : server,
    context: cluster?.only ? cluster.context : undefined,
    namespace: cluster?.only ? cluster.namespace : undefined,
    profile: profileName,
    socket: localOnly ? socket : undefined,
    ca: tls.ca,
    cert: tls.cert,
    key: tls.key,
    "tls-dir": tls.dir === env["GT_TLS_DIR"] ? undefined : tls.dir,
    ...place.tokenFlags,
    "agent-profile": profile,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
  const others = insecure ? ["--insecure-plaintext"] : [];
  return ["gt", ...words, ...flags, ...others]
    .map((word) => shellWord(plainText(word).replaceAll(/\s+/g, " ")))
    .join(" ");
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
