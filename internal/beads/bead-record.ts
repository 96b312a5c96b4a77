import { isHost } from "../base/text/host-name.ts";

/** The agent's place according to its bead. */
type BeadPlace =
  | { readonly type: "local" }
  /**
   * `session`: the id of the agent's session, if the bead has it. `server`: the control plane that started the session,
   * `HOST:PORT`.
   */
  | {
      readonly type: "k8s";
      readonly host: string;
      readonly port: number;
      readonly session?: string | undefined;
      readonly server?: string | undefined;
    }
  /** A session of a control plane, whose address is `HOST:PORT`. */
  | { readonly type: "bridge"; readonly server: string; readonly session: string }
  /** The place is invalid. It must not be taken for local. */
  | { readonly type: "malformed"; readonly reason: string };

export interface BeadRecord {
  readonly place: BeadPlace;
  /** The agent asked not to be disturbed (`notification_level: muted`). */
  readonly muted: boolean;
}

type Fields = ReadonlyMap<string, string>;

const KEYS = new Set([
  ...["backend", "bridge_server", "sidecar_host", "sidecar_port", "sidecar_session"],
  "notification_level",
]);
const SERVER = /^(?:\[(?<ip>[^\]]*)\]|(?<name>[^:[\]]+)):(?<port>\d{1,5})$/;
const LINE = /^\s*([A-Za-z_]+)\s*:\s*(.*?)\s*$/;
const SESSION = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Parses the output of `bd show ID --json`: an array whose first element is the bead. Reads its `metadata`, then `key:
 * value` lines of its notes, then those of its description. The first of these with a backend decides, with its own
 * host and port. Undefined: the text is not such output.
 */
export function parseBead(text: string): BeadRecord | undefined {
  const bead = firstObject(text);
  if (bead === undefined) return undefined;
  const metadata = objectFields(bead["metadata"]);
  const sources = [metadata, lineFields(bead["notes"]), lineFields(bead["description"])];
  const level = sources.map((fields) => fields.get("notification_level")).find((value) => value !== undefined);
  const deciding = sources.find((fields) => fields.has("backend"));
  return { place: deciding === undefined ? withoutBackend(metadata) : readPlace(deciding), muted: level === "muted" };
}

function readPlace(fields: Fields): BeadPlace {
  const backend = fields.get("backend")?.toLowerCase() ?? "";
  if (backend === "" || backend === "local" || backend === "tmux") return { type: "local" };
  if (backend === "bridge") return sessionPlace(fields);
  if (backend !== "k8s") return malformed(`unknown backend ${JSON.stringify(backend)}`);
  const host = fields.get("sidecar_host") ?? "";
  const port = fields.get("sidecar_port") ?? "";
  if (host === "") return malformed("backend=k8s without sidecar_host");
  if (!isHost(host)) return malformed(`sidecar_host is not a host: ${JSON.stringify(host)}`);
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    return malformed(
      port === "" ? "backend=k8s without sidecar_port" : `sidecar_port is not a port: ${JSON.stringify(port)}`,
    );
  }
  const session = fields.get("sidecar_session") ?? "";
  if (session !== "" && !SESSION.test(session)) {
    return malformed(`sidecar_session is not a session id: ${JSON.stringify(session)}`);
  }
  const server = fields.get("bridge_server") ?? "";
  if (server !== "" && !isServer(server)) return malformed(`backend=k8s with bridge_server=${JSON.stringify(server)}`);
  return { type: "k8s", host, port: Number(port), session: session || undefined, server: server || undefined };
}

function isServer(text: string): boolean {
  const { ip, name, port } = SERVER.exec(text)?.groups ?? {};
  return isHost(ip ?? name ?? "") && Number(port) >= 1 && Number(port) <= 65_535;
}

function sessionPlace(fields: Fields): BeadPlace {
  const [server, session] = [fields.get("bridge_server") ?? "", fields.get("sidecar_session") ?? ""];
  if (!isServer(server)) return malformed(`backend=bridge with bridge_server=${JSON.stringify(server)}`);
  if (!SESSION.test(session)) return malformed(`backend=bridge with sidecar_session=${JSON.stringify(session)}`);
  return { type: "bridge", server, session };
}

/** A sidecar's address without a backend is a half-written record, not a local agent. */
function withoutBackend(metadata: Fields): BeadPlace {
  const half = metadata.has("sidecar_host") || metadata.has("sidecar_port");
  return half ? malformed("a sidecar's address without backend=k8s") : { type: "local" };
}

function malformed(reason: string): BeadPlace {
  return { type: "malformed", reason };
}

function firstObject(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    const first: unknown = Array.isArray(parsed) ? parsed[0] : undefined;
    return typeof first === "object" && first !== null ? (first as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function objectFields(value: unknown): Fields {
  if (typeof value !== "object" || value === null) return new Map();
  const entries = Object.entries(value).filter(([key, entry]) => KEYS.has(key) && isScalar(entry));
  return new Map(entries.map(([key, entry]) => [key, String(entry).trim()]));
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number";
}

function lineFields(text: unknown): Fields {
  const fields = new Map<string, string>();
  if (typeof text !== "string") return fields;
  for (const line of text.split("\n")) {
    const [, key, value] = LINE.exec(line) ?? [];
    if (key !== undefined && value !== undefined && KEYS.has(key) && !fields.has(key)) fields.set(key, value);
  }
  return fields;
}
