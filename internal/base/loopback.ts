import { isIP } from "node:net";

/** True for an IP address in 127.0.0.0/8 and for ::1. Names, `localhost` too, are not addresses. */
export function isLoopbackAddress(host: string): boolean {
  return isIP(host) === 4 ? host.startsWith("127.") : host === "::1";
}

/** True for `localhost` and for an address of `isLoopbackAddress`. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || isLoopbackAddress(host);
}
