import { DomainError } from "../../base/errors.ts";
import { hostPort, isHost } from "../../base/text/host-name.ts";

const DEFAULT_PORT = 9445;

/** A control plane as `host:port` for a URL. @throws DomainError `invalid`, naming the flag or variable */
export function readServer(text: string, source: string): string {
  const bare = text.replace(/^https:\/\//, "").replace(/\/$/, "");
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:/[\]]+))(?::(\d{1,5}))?$/.exec(bare) ?? [];
  const host = bracketed ?? plain ?? "";
  const port = digits === undefined ? DEFAULT_PORT : Number(digits);
  if (isHost(host) && port >= 1 && port <= 65_535) return hostPort(host, port);
  const hint = text.startsWith("http://")
    ? "a control plane is reached only over TLS: omit the scheme"
    : "as in bridge.example.com:9445, 10.0.3.7 or [::1]:9445";
  throw new DomainError("invalid", `${source} takes HOST:PORT, not ${JSON.stringify(text)}`, { fields: { hint } });
}
