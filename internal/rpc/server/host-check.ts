import { isIP } from "node:net";
import { isLoopbackAddress } from "../../base/loopback.ts";

/** Rules for the `Host` and `Origin` headers of requests. */
export interface HostCheck {
  /** Accept any `Host`: for TLS, where certificates identify both sides. `Origin` is still checked. Default false. */
  readonly anyHost?: boolean;
  /** Allowed host names in `Host` and `Origin` besides `localhost`, without port. */
  readonly allowHosts: readonly string[];
  /** The server has no flag that adds names, so refusals mention none. Default false: they mention `--allow-host`. */
  readonly isFixed?: boolean;
}

/**
 * Why a request is refused; undefined: it is accepted. Guards against web pages: a page whose own name resolves to a
 * loopback address still sends that name as `Host`, and a page that calls us directly sends its `Origin`. An IP literal
 * as `Host` passes, because the attack needs a name. With TLS the attack fails, but a browser with a caller's
 * certificate would use it for any page. This does not authenticate callers.
 *
 * @param host `Host` header or `:authority`, with or without port
 * @param origin `Origin` header; null or undefined: none
 */
export function hostRefusal(
  host: string | undefined,
  origin: string | null | undefined,
  check: HostCheck,
): string | undefined {
  const name = host === undefined ? undefined : hostNameOf(`http://${host}`);
  if (name === undefined) return "the request names no host";
  if (!check.anyHost && isIP(name) === 0 && !isAllowed(name, check))
    return `host ${JSON.stringify(name)} is not allowed${flagOf(check)}`;
  if (origin === null || origin === undefined) return undefined;
  const from = hostNameOf(origin);
  if (from !== undefined && (isLoopbackAddress(from) || isAllowed(from, check))) return undefined;
  return `origin ${JSON.stringify(origin.slice(0, 200))} is not allowed${flagOf(check)}`;
}

function flagOf({ isFixed }: HostCheck): string {
  return isFixed === true ? ": web pages of other hosts may not call" : " (see --allow-host)";
}

function isAllowed(name: string, check: HostCheck): boolean {
  return name === "localhost" || check.allowHosts.some((allowed) => allowed.toLowerCase() === name);
}

/** Lower case, without port, brackets and final dot; undefined if the text is not a URL with a host. */
function hostNameOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const name = new URL(url).hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  return name === "" ? undefined : name;
}
