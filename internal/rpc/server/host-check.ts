import { isIP } from "node:net";
import { isLoopbackAddress } from "../../base/loopback.ts";

/** Whose requests a listener answers, by what the request says. */
export interface HostCheck {
  /**
   * Whatever `Host` says: for TLS, where the certificate says who is who. `Origin` is still looked at. Default false.
   */
  readonly anyHost?: boolean;
  /** Host names beyond `localhost`, without port, that may be in `Host` and `Origin`. */
  readonly allowHosts: readonly string[];
  /** No flag of this server adds names, so a refusal names none. Default false: `--allow-host` does. */
  readonly isFixed?: boolean;
}

/**
 * Why a request is refused, or undefined when it is not. Guards against web pages: a page that
 * lets its own name resolve to a loopback address still sends that name as `Host`, and a page that calls us directly
 * says so in `Origin`. An IP literal as `Host` passes, because such a trick needs a name. With TLS the trick fails, but
 * a browser that holds a caller's certificate would lend it to any page. Not a check of who calls.
 *
 * @param host `Host` header or `:authority`, with or without port
 * @param origin `Origin` header, null or undefined when there is none
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

/** Lower case, without port, brackets and the dot of a full name; undefined if the text is no URL with a host. */
function hostNameOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const name = new URL(url).hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  return name === "" ? undefined : name;
}
